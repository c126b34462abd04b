"""Your own tools, as your agent calls them in real life. Here they are tables; yours ask services.

``mapsat record my_tools:tools`` calls them and keeps what they answer in benchmark_cases/records, where the tests replay it.
"""

ROOMS = [
    {"id": "r1", "name": "Birch", "floor": 1, "seats": 4},
    {"id": "r2", "name": "Cedar", "floor": 1, "seats": 8},
    {"id": "r3", "name": "Great Hall", "floor": 0, "seats": 60},
]
PLACES = [
    {"id": "p1", "name": "Night Owl", "hours": "18:00-23:00", "walk_min": 2},
    {"id": "p2", "name": "Blue Door", "hours": "11:00-15:00", "walk_min": 4},
    {"id": "p3", "name": "Hilltop Inn", "hours": "10:00-22:00", "walk_min": 25},
]


def find_rooms(start: str, minutes: int = 60) -> dict:
    """List the meeting rooms of the office that are free at a time.

    Args:
        start: when the meeting begins, as 14:00
        minutes: how long it takes
    """
    return {"rooms": [room for room in ROOMS if minutes <= 120 or room["seats"] > 10]}


def book_room(room_id: str, start: str) -> dict:
    """Book a meeting room.

    Args:
        room_id: the id that find_rooms gives
        start: when the meeting begins, as 14:00
    """
    return {"status": "booked", "room_id": room_id}


def find_places(query: str) -> dict:
    """Find places to eat around the office, the nearest first.

    Args:
        query: what is wanted, as in noodles
    """
    return {"places": PLACES}


tools = [find_rooms, book_room, find_places]
