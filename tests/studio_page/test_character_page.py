"""A GLB dropped on the stage becomes the character that takes are shown on."""

from __future__ import annotations

import base64

import pytest
from browser import as_at_first, go, open_take, settled
from test_own_character import HERO, hero_mesh

from motionloom.formats import gltf

expect = pytest.importorskip("playwright.sync_api").expect

_DROP = """([name, data]) => {
    const bytes = Uint8Array.from(atob(data), (one) => one.charCodeAt(0));
    const given = new DataTransfer();
    given.items.add(new File([bytes], name));
    document.querySelector("loom-app").renderRoot.querySelector("main").dispatchEvent(
        new DragEvent("drop", { dataTransfer: given, bubbles: true, composed: true })); }"""


@pytest.fixture(scope="module")
def hero(tmp_path_factory) -> bytes:
    path = tmp_path_factory.mktemp("hero") / "hero.glb"
    gltf.writer.write_meshes(HERO, path, [hero_mesh()])
    return path.read_bytes()


@pytest.fixture
def page(windows, studio_address):
    return as_at_first(windows(studio_address, width=900, height=600))


def drop(page, name: str, data: bytes) -> None:
    page.evaluate(_DROP, [name, base64.b64encode(data).decode()])


def shown_body(page) -> str:
    return page.evaluate("studio.stage.characters[0].motion.body")


def test_a_dropped_character_is_worn_by_all_takes_and_cleared(page, hero):
    open_take(page, "walk_p0")
    before = page.evaluate("studio.stage.characters[0].motion.joints.length")
    drop(page, "hero.glb", hero)
    page.wait_for_function("() => studio.own.current?.name === 'hero'")
    settled(page)
    assert shown_body(page).startswith("character-") and page.evaluate("studio.take") == "walk_p0"
    page.wait_for_function("() => studio.stage.bodies.group.children.length > 0")
    colors = page.evaluate(
        "studio.stage.bodies.group.children[0].children[0].geometry.getAttribute('skinColor').count"
    )
    assert colors == len(hero_mesh().vertices)

    open_take(page, "jog_p0")
    assert shown_body(page).startswith("character-")
    page.reload()
    page.wait_for_function("() => window.studio?.own?.current && studio.take === 'jog_p0'")
    settled(page)
    assert shown_body(page).startswith("character-")

    page.locator("loom-stage-bar #clear-character").click()
    page.wait_for_function("() => studio.own.current === null")
    settled(page)
    assert not shown_body(page).startswith("character-")
    assert page.evaluate("studio.stage.characters[0].motion.joints.length") == before


def test_matches_wear_the_character_too(page, hero):
    drop(page, "hero.glb", hero)
    page.wait_for_function("() => studio.own.current?.name === 'hero'")
    page.evaluate("() => studio.stage.set({ body: false })")
    go(page, "search", query="kick_front_high_right_p0:10-60", max="3")
    page.locator("loom-search-view .card").nth(1).click()
    page.wait_for_function("() => studio.stage.characters.length === 2")
    settled(page)
    assert shown_body(page).startswith("character-")
    page.locator("loom-stage-bar #clear-character").click()  # the match is shown again without
    page.wait_for_function("() => !studio.stage.characters[0].motion.body.startsWith('character-')")


def test_an_invalid_character_is_refused_and_nothing_changes(page, hero, tmp_path):
    open_take(page, "walk_p0")
    page.expected += ["api/characters", "status of 4"]
    HERO.save(tmp_path / "bones.glb", mesh="none")
    drop(page, "bones.glb", (tmp_path / "bones.glb").read_bytes())
    expect(page.locator(".notice")).to_contain_text("skin")
    assert page.evaluate("[studio.own.current, studio.take]") == [None, "walk_p0"]
