"""The HTML report in a real Chromium: what people click, type, see and hear of it."""

import json
import shutil
import time

import pytest
from report_runs import COMPARED, HOSTILE, hostile

from pytest_mapsat.model import PeopleLabels
from pytest_mapsat.reports.html import html_report

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
    choose(page, "#by-domain", "search")
    assert shown_rows(page) == ["sleep"]
    choose(page, "#by-domain", "")
    find(page, "#by-open")[0].click()
    assert shown_rows(page) == ["charge-now", "charge-later"]
    find(page, "#by-open")[0].click()
    head = find(page, "#table thead th")[2]
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


def test_a_theme_is_chosen_and_text_stands_out_in_each(page):
    backgrounds = set()
    for theme in ("light", "dark"):
        find(page, "#theme")[0].click()
        assert find(page, "#theme")[0].text == f"Theme: {theme}"
        backgrounds.add(find(page, "body")[0].value_of_css_property("background-color"))
        assert page.execute_script(CONTRAST)[0] >= 4.5, page.execute_script(CONTRAST)
        page.execute_script("location.hash = '#case-charge-now'")
        time.sleep(0.2)
        assert page.execute_script(CONTRAST)[0] >= 4.5, page.execute_script(CONTRAST)
        page.execute_script("location.hash = '#cases'")
        time.sleep(0.2)
    assert len(backgrounds) == 2
    find(page, "#theme")[0].click()


@pytest.mark.parametrize("width", [390, 768])
def test_nothing_is_wider_than_a_narrow_screen(page, width):
    view(page, width)
    for place in ("#cases", "#case-charge-now"):
        page.execute_script(f"location.hash = '{place}'")
        assert page.execute_script("return document.documentElement.scrollWidth") <= width


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


def test_paper_shows_the_case_and_no_control(page):
    page.execute_script("location.hash = '#case-charge-now'")
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    page.execute_script("dispatchEvent(new Event('beforeprint'))")
    assert not visible(page, "#theme, .case nav, .decide, #overview")
    assert "charging point" in visible(page, "article.case")[0].text
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})


def test_what_changed_stands_before_the_metrics_and_leads_to_the_case(page):
    heads = [head.text for head in visible(page, "h1, h2")]
    assert heads[0].startswith("1 of 4 failed; the ")
    assert heads.index("Changes") < heads.index("Metrics")
    flips = find(page, ".flips")[0].text
    for words in ("flipped", "passed → failed", "before\n“Blue Bay”", "now\n“Old Mill”"):
        assert words in flips
    find(page, ".flips a")[0].click()
    assert visible(page, "article.case")[0].get_attribute("id") == "case-charge-now"


def test_hostile_text_runs_nowhere(browser, tmp_path):
    path = tmp_path / "hostile.html"
    path.write_text(html_report(hostile(COMPARED)), encoding="utf-8")
    browser.get(path.as_uri())
    for link in find(browser, "#table a"):
        browser.execute_script("arguments[0].click()", link)
        time.sleep(0.1)
        assert "<script>window.hacked=1</script>" in visible(browser, "article.case")[0].text
        press(browser, "\ue00c")
    assert HOSTILE[:40] in find(browser, ".verdict, header")[0].text
    assert browser.execute_script("return typeof window.hacked") == "undefined"
    assert [entry["message"] for entry in browser.get_log("browser")] == []
