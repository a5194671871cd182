// Chromium, headless, for tests of pages: the explorer's here, and the benchmark's report.

import { chromium } from "playwright-core";

const ARGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

/** A phone of 360 px. */
export const PHONE = { viewport: { width: 360, height: 740 }, isMobile: true, hasTouch: true, deviceScaleFactor: 2 };

/** Starts Chromium: the one that CHROMIUM names, or the system's. */
export async function launch() {
  const executablePath = process.env.CHROMIUM || "/usr/bin/chromium";
  return chromium.launch({ executablePath, headless: true, args: ARGS });
}

/** Opens an address in a context of its own; the page knows its `problems` (console and page errors) and `requests`. */
export async function visit(browser, url, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(10_000);
  page.problems = [];
  page.requests = [];
  page.on("console", (message) => ["error", "warning"].includes(message.type()) && page.problems.push(message.text()));
  page.on("pageerror", (error) => page.problems.push(String(error)));
  page.on("request", (request) => request.url().startsWith("data:") || page.requests.push(request.url()));
  await page.goto(url);
  return page;
}

/**
 * Runs in the page: visible texts whose contrast with what lies behind them is under 4.5 (3 for large text). Texts of pictures
 * count where they lie on the page's own ground.
 */
export function contrasts({ pictures = false } = {}) {
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = 1;
  const brush = canvas.getContext("2d", { willReadFrequently: true });
  const paint = (colors) => {
    for (const color of colors) {
      brush.fillStyle = color;
      brush.fillRect(0, 0, 1, 1);
    }
    return [...brush.getImageData(0, 0, 1, 1).data]
      .slice(0, 3)
      .map((c) => (c <= 10 ? c / 3294 : ((c / 255 + 0.055) / 1.055) ** 2.4));
  };
  const light = ([r, g, b]) => 0.2126 * r + 0.7152 * g + 0.0722 * b;
  const poor = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const one = walker.currentNode.parentElement;
    const drawn = one instanceof SVGElement && !(one instanceof SVGTitleElement);
    if (
      !walker.currentNode.textContent.trim() ||
      !(one.offsetParent || (pictures && drawn && one.getClientRects().length)) ||
      one.closest(`script, ${pictures ? "" : "svg, "}option, .visually-hidden, .skip`)
    )
      continue;
    const behind = [];
    for (let at = one; at; at = at.parentElement) behind.unshift(getComputedStyle(at).backgroundColor);
    const style = getComputedStyle(one);
    const [ground, ink] = [light(paint(behind)), light(paint([...behind, drawn ? style.fill : style.color]))];
    const ratio = (Math.max(ground, ink) + 0.05) / (Math.min(ground, ink) + 0.05);
    const large = parseFloat(style.fontSize) >= 24;
    if (ratio < (large ? 3 : 4.5))
      poor.push(`${walker.currentNode.textContent.trim().slice(0, 30)}: ${ratio.toFixed(2)}`);
  }
  return poor;
}
