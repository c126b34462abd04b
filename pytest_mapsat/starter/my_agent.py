"""An agent to begin with: a rule for each of two questions. Put your own in its place, a model and all."""


def agent(message, tools, context):
    """Return the reply to the user's message."""
    if "room" in message:
        return book_a_room(tools)
    return find_lunch(tools, context)


def find_lunch(tools, context):
    """Return the nearest place that is open now."""
    now = context.now[11:16]
    for place in tools.find_places(query="lunch")["places"]:
        opens, closes = place["hours"].split("-")
        if opens <= now < closes:
            return f"Go to {place['name']}, it is a {place['walk_min']} min walk."
    return "I found no place that is open now."


def book_a_room(tools):
    """Book a room. It takes the first one, whoever comes: see what the benchmark says."""
    room = tools.find_rooms(start="14:00")["rooms"][0]
    tools.book_room(room_id=room["id"], start="14:00")
    return f"I have booked {room['name']} for 14:00."
