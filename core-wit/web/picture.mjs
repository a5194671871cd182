// The explorer as it opens, in Chromium -> docs/explorer.png; at a phone's width -> screenshots/phone-N.png, to be looked at.

import { mkdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { SCREENSHOTS, start } from "./tests/browser.mjs";
import { PHONE } from "./tests/chromium.mjs";

const PICTURE = fileURLToPath(new URL("../../docs/explorer.png", import.meta.url));
/** Screens of a phone in one picture. */
const SCREENS = 2;

mkdirSync(SCREENSHOTS, { recursive: true });
const chromium = await start();
const page = await chromium.open("file", { viewport: { width: 1180, height: 900 }, colorScheme: "light" });
await page.screenshot({ path: PICTURE, fullPage: true });

const phone = await chromium.open("file", { ...PHONE, colorScheme: "light" });
const height = SCREENS * PHONE.viewport.height;
const whole = await phone.evaluate(() => document.documentElement.scrollHeight);
for (let y = 0; y < whole; y += height) {
  const clip = { x: 0, y, width: PHONE.viewport.width, height: Math.min(height, whole - y) };
  await phone.screenshot({ path: `${SCREENSHOTS}phone-${y / height + 1}.png`, fullPage: true, clip });
}
await chromium.stop();
console.log(PICTURE);
