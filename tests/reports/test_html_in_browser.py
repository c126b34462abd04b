"""The HTML report in a real Chromium: what people click, type, see and hear of it."""

import json
import shutil
import time

import pytest
from report_runs import BEFORE, COMPARED, HOSTILE, hostile

from pytest_mapsat.model import PeopleLabels
from pytest_mapsat.reports.html import EarlierRun, html_report

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
pytestmark = [
    pytest.mark.skipif(not (CHROMIUM and DRIVER), reason="no chromium and chromedriver on the PATH"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]

#: The least contrast of any text with what lies behind it, and which text that is.
CONTRAST = """
const canvas = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
const rgba = (text) => { canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = text; canvas.fillRect(0, 0, 1, 1); return [...canvas.getImageData(0, 0, 1, 1).data]; };
const light = (rgb) => { const [r, g, b] = rgb.map((v) => v / 255).map((v) => v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4); return .2126 * r + .7152 * g + .0722 * b; };
const behind = (el) => { for (; el; el = el.parentElement) { const c = rgba(getComputedStyle(el).backgroundColor); if (c[3] === 255) return c; } return [255, 255, 255]; };
let least = [99, ''];
const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walk.nextNode()) {
  const el = walk.currentNode.parentElement;
  if (!walk.currentNode.data.trim() || !el.checkVisibility() || el.closest('svg, script, style')) continue;
  const a = light(rgba(getComputedStyle(el).color).slice(0, 3)), b = light(behind(el).slice(0, 3));
  const ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
  if (ratio < least[0]) least = [ratio, el.className + ': ' + walk.currentNode.data.slice(0, 40)];
}
return least;
"""


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    options.set_capability("unhandledPromptBehavior", "accept")
    driver = webdriver.Chrome(options=options, service=Service(DRIVER))
    driver.set_page_load_timeout(120)
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(html_report(COMPARED), encoding="utf-8")
    return path.as_uri()


@pytest.fixture(scope="module")
def address_of_several(tmp_path_factory):
    path = tmp_path_factory.mktemp("several") / "report.html"
    earlier = [EarlierRun(name, run) for name, run in zip(("monday", "tuesday"), BEFORE, strict=True)]
    path.write_text(html_report(COMPARED, None, earlier), encoding="utf-8")
    return path.as_uri()


@pytest.fixture
def several(browser, address_of_several):
    """The page of three runs, freshly opened."""
    view(browser, 1280)
    browser.get("about:blank")
    browser.get(address_of_several)
    return browser


def unfold(browser):
    browser.execute_script("for (const fold of document.querySelectorAll('details')) fold.open = true")


def go(browser, place):
    """Follow a link to a place of the page, and wait until the page shows it."""
    browser.execute_script("location.hash = arguments[0]", place)
    is_case = place.startswith("#case-")
    for _ in range(100):
        if bool(visible(browser, "article.case")) == is_case:
            return
        time.sleep(0.02)
    raise AssertionError(f"{place} is not shown")


@pytest.fixture
def page(browser, address):
    """The page, freshly opened; it has asked for nothing and complained of nothing when the test is over."""
    view(browser, 1280)
    browser.get("about:blank")
    for kind in ("browser", "performance"):
        browser.get_log(kind)
    browser.get(address)
    yield browser
    assert [entry["message"] for entry in browser.get_log("browser")] == []
    events = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    asked = [event["params"] for event in events if event["method"] == "Network.requestWillBeSent"]
    ours = {one["request"]["url"] for one in asked if one["documentURL"].startswith("file:")}
    assert not [url for url in ours if not url.startswith((address, "data:", "blob:"))]


def view(browser, width, height=900):
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)


def press(browser, *keys):
    from selenium.webdriver.common.action_chains import ActionChains

    ActionChains(browser).send_keys(*keys).perform()


def shown_rows(browser):
    return [row.text.split("\n")[0].split(" ")[0] for row in find(browser, "#table tbody tr") if row.is_displayed()]


def soon(browser, selector, text):
    """Wait until the element that has the focus says so, or is so: focus moves after the address has."""
    for _ in range(100):
        if focused(browser).text.split("\n")[0] == text and visible(browser, selector):
            return True
        time.sleep(0.05)
    return False


def choose(browser, selector, value):
    """Choose from a list, and let the page hear of it."""
    script = "arguments[0].value = arguments[1]; arguments[0].dispatchEvent(new Event('input', {bubbles: true}))"
    browser.execute_script(script, find(browser, selector)[0], value)


def empty(browser):
    """Empty the field of the search as a user does."""
    find(browser, "#find")[0].click()
    press(browser, *"\ue003" * 20, "\ue00c")


def find(browser, selector):
    return browser.find_elements("css selector", selector)


def visible(browser, selector):
    return [one for one in find(browser, selector) if one.is_displayed()]


def focused(browser):
    return browser.switch_to.active_element


def test_a_table_of_cases_is_filtered_and_sorted(page):
    assert shown_rows(page) == ["charge-now", "charge-later", "sleep"]
    find(page, "#find")[0].send_keys("SLEEP car")
    assert shown_rows(page) == ["sleep"]
    assert find(page, "#shown")[0].text == "1 of 3 cases"
    empty(page)
    find(page, "#find")[0].send_keys("nowhere")
    assert visible(page, "#nothing")
    empty(page)
    choose(page, "#by-outcome", "failed")
    assert shown_rows(page) == ["charge-now"]
    choose(page, "#by-outcome", "")
    choose(page, "[name=domain]", "search")
    assert shown_rows(page) == ["sleep"]
    choose(page, "[name=domain]", "")
    find(page, "#by-open")[0].click()
    assert shown_rows(page) == ["charge-now", "charge-later"]
    find(page, "#by-open")[0].click()
    head = find(page, "#table thead th[data-name=satisfied]")[0]
    head.find_element("css selector", "button").click()
    assert head.get_attribute("aria-sort") == "ascending"
    assert shown_rows(page) == ["charge-now", "charge-later", "sleep"]
    head.find_element("css selector", "button").click()
    assert shown_rows(page) == ["sleep", "charge-later", "charge-now"]


def test_a_case_opens_with_dialogue_calls_requirements_and_drawing(page):
    find(page, "#table a[href='#case-charge-now']")[0].click()
    assert soon(page, "article.case", "charge-now")
    assert not visible(page, "#overview")
    (article,) = visible(page, "article.case")
    assert page.title == "charge-now · mapsat"
    marks = [(mark.text, mark.get_attribute("class")) for mark in article.find_elements("css selector", "mark")]
    assert marks == [("Old Mill", "failed"), ("400 m", "unevaluated")]
    for words in ("broken", "The place is open at 18:20", "known from the environment", "a place that is open"):
        assert words in article.text
    calls = article.find_elements("css selector", "details.call summary")
    assert [call.text.split()[-1] for call in calls] == ["near", "error"]
    assert "recorded" not in article.find_element("css selector", ".dialogue").text
    calls[0].click()
    assert "asked 'charger', recorded 'charging point'" in article.text
    assert len(article.find_elements("css selector", ".map .place")) == 3
    assert [one.text.split("\n")[0] for one in article.find_elements("css selector", ".map li.said")] == ["Old Mill"]
    assert article.find_elements("css selector", ".map polyline.way")
    page.execute_script(
        "arguments[0].dispatchEvent(new MouseEvent('mouseover', {bubbles: true}))", find(page, ".requirement.failed")[0]
    )
    assert [mark.text for mark in article.find_elements("css selector", "mark.lit")] == ["Old Mill"]


def test_everything_can_be_done_from_the_keyboard(page):
    press(page, "/")
    assert focused(page).get_attribute("id") == "find"
    press(page, "jk", "\ue00c")
    assert focused(page).get_attribute("id") != "find"
    assert len(shown_rows(page)) == 3
    press(page, "j")
    assert soon(page, "article.case", "charge-now")
    press(page, "j")
    assert soon(page, "article.case", "charge-later")
    press(page, "k")
    assert soon(page, "article.case", "charge-now")
    press(page, "\ue00c")
    assert soon(page, "#overview", "charge-now")
    press(page, "\ue007")
    assert soon(page, "article.case", "charge-now")


def walk_by_tab(browser):
    """Press Tab through the page, and return what had the focus; each must show that it has it."""
    browser.execute_script("document.querySelector('.skip').focus()")
    reached = [focused(browser)]
    for _ in range(400):
        press(browser, "\ue004")
        here = focused(browser)
        if here.tag_name == "body" or here == reached[0]:
            break
        assert here.is_displayed()
        assert here.value_of_css_property("outline-style") == "solid", here.get_attribute("outerHTML")
        reached.append(here)
    return reached


@pytest.mark.parametrize("place", ["#cases", "#case-charge-now"])
def test_tab_reaches_every_control(several, place):
    go(several, place)
    unfold(several)
    selector = "a[href], button, input:not([type=radio]), input[type=radio]:checked, select, summary, [tabindex='0']"
    wanted = {one.id for one in visible(several, selector)}
    assert not wanted - {one.id for one in walk_by_tab(several)}


def test_lists_folds_and_decisions_are_worked_by_keys_alone(several):
    reason = find(several, ".reasons a")[0]
    several.execute_script("arguments[0].focus()", reason)
    words = reason.text
    press(several, "\ue007")
    assert find(several, "#filters [name=why]")[0].get_attribute("value") == words
    assert shown_rows(several) == ["charge-now"]
    several.execute_script("arguments[0].focus()", find(several, "#reset")[0])
    press(several, " ")
    for _ in range(50):
        if len(shown_rows(several)) == 3:
            break
        time.sleep(0.02)
    head = find(several, "th[data-name=case]")[0]
    several.execute_script("arguments[0].focus()", head.find_element("css selector", "button"))
    press(several, "\ue007")
    assert shown_rows(several) == ["charge-later", "charge-now", "sleep"]
    go(several, "#case-charge-now")
    fold = visible(several, "article.case .requirement.failed .decide summary")[0]
    assert fold.text == "Override"
    several.execute_script("arguments[0].focus()", fold)
    press(several, "\ue007", "\ue004", "\ue012")
    assert visible(several, "#decisions")
    assert find(several, "#decided")[0].text == "1 label"


def test_a_view_is_in_the_address_and_a_link_shows_it_again(several, address_of_several):
    find(several, "#find")[0].send_keys("charge")
    choose(several, "[name=domain]", "navigation")
    find(several, "details.more summary")[0].click()
    choose(several, "[name=figure]", "satisfied")
    choose(several, "[name=limit]", "0.4")
    find(several, "th[data-name=case] button")[0].click()
    find(several, "th[data-name=case] button")[0].click()
    assert shown_rows(several) == ["charge-now"]
    link = several.current_url
    assert link.endswith("#cases?find=charge&domain=navigation&figure=satisfied&limit=0.4&sort=-case")
    several.get("about:blank")
    several.get(link)
    assert shown_rows(several) == ["charge-now"]
    assert find(several, "th[data-name=case]")[0].get_attribute("aria-sort") == "descending"
    choose(several, "[name=limit]", "0.6")
    assert shown_rows(several) == ["charge-now", "charge-later"]
    visible(several, "#table tbody a")[0].click()
    assert soon(several, "article.case", "charge-now")
    assert "#case-charge-now?find=charge" in several.current_url
    several.get(several.current_url.replace("#", "?again#"))
    assert soon(several, "article.case", "charge-now")
    press(several, "\ue00c")
    assert soon(several, "#overview", "charge-now")
    assert shown_rows(several) == ["charge-now", "charge-later"]


def test_the_list_is_filtered_by_flips_and_attributes(several):
    find(several, "#by-flipped")[0].click()
    assert shown_rows(several) == ["charge-now"]
    find(several, "#reset")[0].click()
    for _ in range(50):
        if len(shown_rows(several)) == 3:
            break
        time.sleep(0.02)
    assert not visible(several, "#reset")


def test_a_case_is_shown_before_and_now(several):
    go(several, "#case-charge-now")
    (before,) = visible(several, "article.case .before")
    assert "open-now passed → failed" in before.text
    assert [one.text for one in before.find_elements("css selector", "del")] == ["Blue Bay"]
    assert [one.text for one in before.find_elements("css selector", "ins")] == ["Old Mill"]
    calls = [
        (one.get_attribute("class"), one.text.split("(")[0].split()[-1])
        for one in before.find_elements("css selector", "li")
    ]
    assert calls[-2:] == [("both", "search_nearby"), ("new", "get_route")]
    go(several, "#case-sleep")
    assert "Replies and calls are the same." in visible(several, "article.case .before")[0].text


def test_cases_and_metrics_are_shown_over_several_runs(several):
    heads = [
        head.text.replace("\n", " ") for head in find(several, ".matrix")[0].find_elements("css selector", "thead th")
    ]
    assert heads == ["case", "monday 2026-05-01 08:30", "tuesday 2026-05-02 08:30", "this run"]
    unfold(several)
    rows = {row.text.split("\n")[0].split()[0]: row.text.split()[1:] for row in find(several, ".matrix tbody tr")}
    assert rows["charge-now"] == "✕ failed ✓ passed ✕ failed".replace("✕ ", "").replace("✓ ", "").split()
    assert rows["old"] == ["passed", "not", "run", "not", "run"]
    assert "The runs differ in cases: their means" in find(several, "#overview")[0].text
    assert len(find(several, "svg.trend circle")) == 3 * len(find(several, "svg.trend"))


def test_without_a_script_every_case_opens_by_its_link(browser, address_of_several):
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        browser.get("about:blank")
        browser.get(f"{address_of_several}#case-charge-later")
        assert "charge-later" in visible(browser, "article.case h1")[0].text
        assert not visible(browser, "#overview")
    finally:
        browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})


def test_a_theme_is_chosen_and_text_stands_out_on_every_kind_of_page(several):
    backgrounds = set()
    for theme in ("light", "dark"):
        find(several, "#theme")[0].click()
        assert find(several, "#theme")[0].text == f"Theme: {theme}"
        backgrounds.add(find(several, "body")[0].value_of_css_property("background-color"))
        for place in ("#cases", "#case-charge-now", "#case-charge-later", "#case-sleep"):
            go(several, place)
            unfold(several)
            assert several.execute_script(CONTRAST)[0] >= 4.5, (place, several.execute_script(CONTRAST))
        go(several, "#cases")
    assert len(backgrounds) == 2
    find(several, "#theme")[0].click()


@pytest.mark.parametrize("width", [390, 768])
def test_nothing_is_wider_than_a_narrow_screen(several, width):
    view(several, width)
    for place in ("#cases", "#case-charge-now", "#case-sleep"):
        go(several, place)
        unfold(several)
        assert several.execute_script("return document.documentElement.scrollWidth") <= width


def test_a_decision_is_exported_in_the_form_that_review_reads(page):
    page.execute_script(
        "URL.createObjectURL = (blob) => { blob.text().then((text) => { window.given = text; }); return '#'; };"
    )
    page.execute_script("HTMLAnchorElement.prototype.click = () => {};")
    find(page, "#table a[href='#case-charge-now']")[0].click()
    assert soon(page, "article.case", "charge-now")
    (open_one,) = visible(page, "article.case .requirement.unevaluated")
    open_one.find_element("css selector", "input[value='0.5']").click()
    open_one.find_element("css selector", "input[name=why]").send_keys('near "enough"')
    assert find(page, "#decided")[0].text == "1 label"
    find(page, "#export")[0].click()
    for _ in range(50):
        if given := page.execute_script("return window.given"):
            break
        time.sleep(0.1)
    (ruling,) = [PeopleLabels.model_validate_json(line) for line in given.splitlines()]
    assert (ruling.case, ruling.trial, ruling.labels, ruling.why) == (
        "charge-now",
        1,
        {"near": 0.5},
        {"near": 'near "enough"'},
    )


@pytest.fixture
def on_paper(several):
    yield lambda: (
        several.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"}),
        several.execute_script("dispatchEvent(new Event('beforeprint'))"),
    )
    several.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})


CONTROLS = "#theme, .case nav, .decide, .filters, .decisions, #keys"


def test_paper_shows_the_case_and_no_control(several, on_paper):
    go(several, "#case-charge-now")
    on_paper()
    assert not visible(several, f"{CONTROLS}, #overview")
    text = visible(several, "article.case")[0].text
    for words in ("charging point", "The place is open at 18:20", "Old Mill", "get_route", "A charger is named"):
        assert words in text


def test_paper_shows_the_whole_overview_and_no_control(several, on_paper):
    on_paper()
    assert not visible(several, f"{CONTROLS}, article.case")
    text = find(several, "#overview")[0].text
    for words in (
        "FAILED: 1 of 4 cases",
        "open-now",
        "Over 3 runs",
        "old",
        "charge-later",
        "Where can I charge",
        "L1",
    ):
        assert words in text


def test_what_changed_stands_before_the_metrics_and_leads_to_the_case(page):
    heads = [head.text for head in visible(page, "h1, h2")]
    assert heads[0] == "FAILED: 1 of 4 cases; the run is invalid"
    assert heads[1:] == ["Notes", "Why cases failed", "Changes", "Cases", "Metrics"]
    flips = find(page, ".flips")[0].text
    for words in ("flipped", "passed → failed", "before\n“Blue Bay”", "now\n“Old Mill”"):
        assert words in flips
    find(page, ".flips a")[0].click()
    assert visible(page, "article.case")[0].get_attribute("id") == "case-charge-now"


def test_hostile_text_runs_nowhere(browser, tmp_path):
    path = tmp_path / "hostile.html"
    earlier = [EarlierRun(HOSTILE, hostile(run)) for run in BEFORE]
    path.write_text(html_report(hostile(COMPARED), None, earlier), encoding="utf-8")
    browser.get(path.as_uri())
    assert browser.execute_script("return document.querySelectorAll('img, iframe, base, #loose').length") == 0
    for link in find(browser, "#table a"):
        browser.execute_script("arguments[0].click()", link)
        time.sleep(0.1)
        assert "<script>window.hacked=1</script>" in visible(browser, "article.case")[0].text
        press(browser, "\ue00c")
    assert HOSTILE[:40] in find(browser, ".verdict, header")[0].text
    assert browser.execute_script("return typeof window.hacked") == "undefined"
    assert [entry["message"] for entry in browser.get_log("browser")] == []
