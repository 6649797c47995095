"""Visual faults of a page: texts that overlap or are cut off, empty pictures, missing captions, a page that is too wide."""

from __future__ import annotations

from playwright.sync_api import Page

# Boxes are compared within one part of the page: content that scrolls under the header or the timeline is no fault.
FIND_FAULTS = """() => {
    const faults = [], parts = ['#header', '#sidebar', '#timeline', '#tabs > .tab-wrapper', '#tabs > .tabitem'];
    const quoted = (box) => `“${box.text.slice(0, 40)}”`;
    const visible = (e) => e.checkVisibility({ opacityProperty: true, visibilityProperty: true }) && !e.closest('.tip, .skip, .busy, .visually-hidden, .sr-only, option, title, iframe');
    const shrunk = (rect, e) => { // to what its scrolling or cutting ancestors show of it
        let { left, right, top, bottom } = rect;
        for (let up = e.parentElement; up && up !== document.body; up = up.parentElement) {
            if (getComputedStyle(up).overflow === 'visible') continue;
            const room = up.getBoundingClientRect();
            [left, right, top, bottom] = [Math.max(left, room.left), Math.min(right, room.right), Math.max(top, room.top), Math.min(bottom, room.bottom)];
        }
        return { left, right, top, bottom };
    };
    const meet = (a, b, by) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > by && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > by;
    for (const part of parts.flatMap((selector) => [...document.querySelectorAll(selector)])) {
        const boxes = [];
        const walk = document.createTreeWalker(part, NodeFilter.SHOW_TEXT);
        while (walk.nextNode()) {
            const node = walk.currentNode, e = node.parentElement;
            if (!node.data.trim() || !visible(e)) continue;
            const range = document.createRange();
            range.selectNodeContents(node);
            const spare = e.ownerSVGElement ? 0.2 : 0; // a line of type is higher than its letters
            for (const { left, right, top, bottom, height } of range.getClientRects()) {
                boxes.push({ e, text: node.data.trim(), ...shrunk({ left, right, top: top + spare * height, bottom: bottom - spare * height }, e) });
            }
        }
        for (const e of part.querySelectorAll('canvas, svg, select, input, textarea, button, iframe, .js-plotly-plot')) {
            if (visible(e) && !e.parentElement.closest('svg, .js-plotly-plot')) boxes.push({ e, text: e.getAttribute('class') || e.tagName, solid: true, ...shrunk(e.getBoundingClientRect(), e) });
        }
        const there = boxes.filter((box) => box.right - box.left > 1 && box.bottom - box.top > 1).sort((a, b) => a.top - b.top);
        there.forEach((a, i) => {
            for (let j = i + 1; j < there.length && there[j].top < a.bottom; j++) {
                const b = there[j];
                if (a.e === b.e || a.e.contains(b.e) || b.e.contains(a.e)) continue;
                const turned = [a, b].some(({ e }) => e.closest('svg') && /rotate/.test(e.getAttribute('transform') ?? ''));
                if (!turned && meet(a, b, 3)) faults.push(`${quoted(a)} lies over ${quoted(b)}`);
            }
        });
        for (const { e, text, solid } of boxes) {
            const svg = solid ? null : e.ownerSVGElement, room = svg?.getBoundingClientRect();
            if (room && getComputedStyle(svg).overflow !== 'visible' && (e.getBoundingClientRect().left < room.left - 2 || e.getBoundingClientRect().right > room.right + 2)) faults.push(`“${text}” is cut off`);
        }
    }
    for (const canvas of document.querySelectorAll('.figure canvas')) {
        if (!visible(canvas) || !canvas.width) continue;
        const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height), seen = new Set();
        for (let i = 0; i < data.length && seen.size < 4; i += 4 * 97) seen.add((data[i] << 16) | (data[i + 1] << 8) | data[i + 2]);
        if (seen.size < 3) faults.push(`the picture ${canvas.className} is empty`);
    }
    for (const plot of document.querySelectorAll('.figure .js-plotly-plot')) {
        if (visible(plot) && !plot.querySelector('.trace path, .trace .point, .trace text, .heatmaplayer image, .treemaplayer path')) faults.push('a plot is empty');
    }
    for (const svg of document.querySelectorAll('.figure svg:not(.main-svg)')) {
        if (visible(svg) && !svg.closest('.js-plotly-plot') && !svg.querySelector('path, rect, line, circle')) faults.push(`the picture ${svg.getAttribute('class')} is empty`);
    }
    for (const caption of document.querySelectorAll('.figure > .caption')) {
        if (visible(caption) && !caption.textContent.trim()) faults.push('a picture has no caption');
    }
    for (const picture of document.querySelectorAll('.figure [role=img]')) {
        if (visible(picture) && !picture.getAttribute('aria-label')) faults.push(`the picture ${picture.getAttribute('class')} says nothing to a screen reader`);
    }
    if (/NaN|undefined|Infinity|null/.test(document.querySelector('#tabs').innerText)) faults.push('something is not a number');
    if (document.documentElement.scrollWidth > window.innerWidth) faults.push('wider than the screen');
    const scrolls = (e) => { for (let up = e.parentElement; up; up = up.parentElement) if (/auto|scroll/.test(getComputedStyle(up).overflowX)) return true; };
    for (const e of document.querySelectorAll('#tabs > .tabitem :is(p, button, select, input, canvas, svg, h3, h4, table)')) { // a frame that hides what is too wide does not make it narrow
        if (visible(e) && !e.parentElement.closest('svg') && e.getBoundingClientRect().right > window.innerWidth + 2 && !scrolls(e)) faults.push(`“${(e.textContent || e.className).trim().slice(0, 40)}” lies beyond the screen`);
    }
    return [...new Set(faults)];
}"""


def find_faults(page: Page) -> list[str]:
    return page.evaluate(FIND_FAULTS)
