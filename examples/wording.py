"""Sentences in the user's language."""

from __future__ import annotations

from .world import Json

_MODES = {
    "walking": ("on foot", "步行"),
    "cycling": ("by bike", "骑车"),
    "driving": ("by car", "开车"),
    "transit": ("by bus", "坐公交"),
}


def pick(language: str, en: str, zh: str) -> str:
    """Return the text in the user's language."""
    return zh if language == "zh" else en


def join(language: str, *sentences: str) -> str:
    """Return sentences as one text; empty ones are left out."""
    return ("" if language == "zh" else " ").join(sentence for sentence in sentences if sentence)


def distance(language: str, metres: float) -> str:
    """Return a distance in metres below one kilometre, else in kilometres."""
    if metres < 1000:  # noqa: PLR2004  a kilometre
        return pick(language, f"{metres:g} m", f"{metres:g}米")
    return pick(language, f"{metres / 1000:g} km", f"{metres / 1000:g}公里")


def way(language: str, route: Json, mode: str) -> str:
    """Return the sentence that tells how long a way takes."""
    en, zh = _MODES[mode]
    length, minutes = distance(language, route["distance_m"]), route["duration_min"]
    toll = route.get("toll_yuan", 0)
    costs = pick(language, f", with a toll of {toll} yuan", f"，过路费{toll}元") if toll else ""
    return pick(
        language, f"It is {length} {en} and takes {minutes} min{costs}.", f"{zh}{minutes}分钟，{length}{costs}。"
    )


def way_via(language: str, route: Json) -> str:
    """Return the sentence that names the road to take, if the route has one."""
    via = route.get("via")
    return pick(language, f"Take the way by {via}.", f"请走{via}。") if via else ""
