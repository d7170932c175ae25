"""The page's memory does not grow with the number of requests."""

from __future__ import annotations

import itertools

import pytest

MEASURED = (300, 800, 1300)  # requests: the first ones fill caches that have limits
ROOM = 4e6  # bytes of the heap; 500 kept answers of this library would be ten times as much
ROOM_NODES = 1500


def used(page, session) -> tuple[float, float]:
    """Bytes of the heap and nodes of documents that are in use.

    The least of a few readings: the view that was left is free only when its last drawing is done.
    """
    readings = []
    for _ in range(8):
        for _ in range(2):  # the second pass frees objects finalized by the first
            session.send("HeapProfiler.collectGarbage")
        answer = session.send("Performance.getMetrics")["metrics"]
        metrics = {metric["name"]: metric["value"] for metric in answer}
        readings.append((metrics["JSHeapUsedSize"], metrics["Nodes"]))
        page.evaluate("() => new Promise(done => requestAnimationFrame(() => setTimeout(done)))")
    heaps, nodes = zip(*readings, strict=True)
    return min(heaps), min(nodes)


@pytest.mark.timeout(7200)
def test_a_thousand_mixed_requests_leave_no_more_memory_than_a_few_hundred(windows, studio_address):
    page = windows(studio_address, width=480, height=360)  # few pixels: drawing is not measured
    names = page.evaluate("studio.library.motions.map(row => row.name)")
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable")
    page.expected += ["api/search", "status of 4"]
    requests, measured = [], []
    page.on("request", lambda request: requests.append(request.url))

    def link(step: int) -> tuple[str, dict]:
        name, other = names[step % len(names)], names[(3 * step + 1) % len(names)]
        start = step % 20
        return [
            ("library", {"take": name}),
            ("search", {"query": f"{name}:{start}-{start + 25}", "max": 12}),
            ("library", {"take": name, "with": other, "range": f"{start}-{start + 9}"}),
            ("grid", {"a": f"{name}:{start}-{start + 25}", "b": other, "layers": "path"}),
            ("graph", {}),
            ("script", {}),
            ("library", {"find": name[:6], "sort": "long"}),
            ("search", {"query": f"none_{step}:0-9"}),
            ("aim", {}),
            ("dance", {}),
        ][step % 10]

    for step in itertools.count():
        page.evaluate("([view, query]) => studio.go(view, query)", list(link(step)))
        page.wait_for_function("() => studio.idle")
        if len(requests) >= MEASURED[len(measured)]:
            page.evaluate("() => { studio.show([]); studio.go('library'); }")
            page.wait_for_function("() => studio.idle")
            measured.append(used(page, session))
            if len(measured) == len(MEASURED):
                break
    print("heap, MB:", [round(heap / 1e6, 2) for heap, _ in measured],
          "nodes:", [nodes for _, nodes in measured], "steps:", step)  # fmt: skip
    for number, room in enumerate((ROOM, ROOM_NODES)):
        sizes = [each[number] for each in measured]
        assert sizes[2] - sizes[0] < room, sizes
        assert sizes[2] - sizes[1] < room / 2, sizes
