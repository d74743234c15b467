// Opens every kind of page that the program writes in a real browser: as a person would, with mouse and keyboard, in light and
// dark, on a phone and on paper. Screenshots are kept in target/browser.
import { chromium } from "playwright-core";
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const program = resolve(process.env.LIPMETRIC ?? "../../target/debug/lipmetric");
const out = resolve(process.env.BROWSER_OUT ?? "../../target/browser");
const browserAt = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find((p) => existsSync(p));
if (!browserAt) {
  console.error("browser: no Chromium is installed; `make browser` installs Debian's where it can");
  process.exit(1);
}
rmSync(out, { recursive: true, force: true });
mkdirSync(out, { recursive: true });

const SCRIPT = "<script>document.title='taken'</script>";
const HOSTILE = { script: SCRIPT, quotes: `"it's" & more`, emoji: "😀 happy", rtl: "שלום עולם" };

/** Two numbers and a label, with names that try to be more than text. */
function hostileTable() {
  const cell = (text) => `"${text.replaceAll('"', '""')}"`;
  let text = [HOSTILE.script, HOSTILE.quotes, "label"].map(cell).join(",") + "\n";
  for (let i = 0; i < 60; i++) {
    const second = i % 2;
    const x = Math.sin(i * 12.9898) * 2 + (second ? 3 : 0), y = Math.cos(i * 78.233) * 2;
    text += [x.toFixed(3), y.toFixed(3), cell(i === 7 ? HOSTILE.rtl : second ? HOSTILE.emoji : HOSTILE.rtl)].join(",") + "\n";
  }
  return text;
}

function run(...args) {
  execFileSync(program, args, { cwd: out, stdio: ["ignore", "ignore", "pipe"] });
}

/** All pages, each with the figures that must be there. */
function makePages() {
  writeFileSync(join(out, "hostile.csv"), hostileTable());
  run("fit", "--data", "cancer", "--method", "lip-i", "--c-rel", "0.1", "--report", "fit.html", "--plots", "plots", "--model", "m.lip");
  run("fit", "--data", "haberman", "--report", "auto.html");
  run("fit", "hostile.csv", "--method", "lip-i", "--classifier", "extension", "--report", "hostile.html");
  run("inspect", "m.lip", "--report", "inspect.html");
  run("compare", "echo", "fertility", "haberman", "--methods", "nn,lip-i,lmnn", "--repeats", "3", "--report", "compare.html");
  run("path", "--data", "echo", "--points", "6", "--least", "0.01", "--report", "path.html");
  run("margins", "--data", "cancer", "--model", "m.lip", "--report", "margins.html");
  run("evaluate", "--data", "haberman", "--folds", "5", "--radius", "0,0.1,0.2,0.4", "--report", "evaluate.html");
  run("plot", "m.lip", "--data", "cancer", "-o", "map.svg");
  return {
    fit: ["before", "after", "objective", "gap-steps", "gap-seconds", "spectrum", "matrix", "weights", "local", "distances-before", "distances-after", "certified"],
    auto: ["before", "tried", "spectrum", "weights", "local", "certified"],
    hostile: ["before", "after", "plane-1", "plane-2", "spectrum", "matrix", "weights"],
    inspect: ["before", "after", "spectrum", "weights", "local"],
    compare: ["critical-difference", "splits-1", "splits-2", "splits-3"],
    path: ["accuracy", "objective", "ratios", "rank", "support"],
    margins: ["before", "after", "local", "distances-after", "certified"],
    evaluate: ["confusion", "reliability", "certified", "splits"],
  };
}

let passed = 0, failed = 0;
async function check(name, test) {
  try {
    await test();
    passed += 1;
  } catch (error) {
    failed += 1;
    console.error(`FAILED ${name}: ${error.message}`);
  }
}
function must(condition, message) {
  if (!condition) throw new Error(message);
}

const browser = await chromium.launch({
  executablePath: browserAt,
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
});

/** A page in its own context; whatever it complains about is kept. */
async function open(name, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  const page = await context.newPage();
  const complaints = [];
  page.on("console", (message) => ["error", "warning"].includes(message.type()) && complaints.push(message.text()));
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("request", (request) => request.url().startsWith("file:") || complaints.push(`asks for ${request.url()}`));
  await page.goto(pathToFileURL(join(out, name)).href);
  return { page, context, complaints };
}

/** Figures of size, with a name and a description; nothing beyond the page's edge. */
async function standing(page, figures) {
  for (const id of figures) {
    const svg = page.locator(`#${id} svg.fig`);
    must((await svg.count()) === 1, `no figure ${id}`);
    const box = await svg.boundingBox();
    must(box && box.width > 200 && box.height > 40, `figure ${id} is ${JSON.stringify(box)}`);
    const named = await svg.evaluate((node) =>
      ["aria-labelledby", "aria-describedby"].map((a) => document.getElementById(node.getAttribute(a))?.textContent.trim() ?? ""));
    must(named.every((text) => text.length > 3), `figure ${id} has no name or no description`);
  }
  const wide = await page.evaluate(() => [document.documentElement.scrollWidth, window.innerWidth]);
  must(wide[0] <= wide[1], `the page is ${wide[0]} wide in a window of ${wide[1]}`);
  const marks = await page.evaluate(() => document.querySelector("main").innerHTML.match(/NaN|undefined|Infinity/g));
  must(!marks, `the page says ${marks}`);
  const headings = await page.$$eval("h1,h2,h3", (all) => all.map((h) => +h.tagName[1]));
  must(headings[0] === 1 && headings.filter((h) => h === 1).length === 1, "not one h1");
  must(headings.every((h, k) => k === 0 || h <= headings[k - 1] + 1), `headings skip a level: ${headings}`);
}

/** The contrast of texts with what is behind them, as WCAG has it. */
async function contrast(page) {
  const poor = await page.evaluate(() => {
    const parse = (colour) => (colour.match(/[\d.]+/g) ?? []).map(Number);
    const light = ([r, g, b]) => {
      const part = (v) => ((v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
      return 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
    };
    const behind = (node) => {
      for (let at = node; at; at = at.parentElement) {
        const colour = parse(getComputedStyle(at).backgroundColor);
        if (colour.length === 3 || colour[3] > 0.99) return colour;
      }
      return [255, 255, 255];
    };
    const found = [];
    for (const node of document.querySelectorAll("h1,h2,h3,p,dt,dd,td,th,a,summary,button,label,code,svg.fig text")) {
      if (!node.textContent.trim() || !node.getClientRects().length) continue;
      const style = getComputedStyle(node);
      const front = light(parse(node.tagName === "text" ? style.fill : style.color)), back = light(behind(node));
      const ratio = (Math.max(front, back) + 0.05) / (Math.min(front, back) + 0.05);
      if (ratio < 4.5) found.push(`${node.tagName} "${node.textContent.trim().slice(0, 30)}" ${ratio.toFixed(2)}`);
    }
    return found;
  });
  must(poor.length === 0, `too little contrast: ${poor.slice(0, 5).join("; ")}`);
}

async function looks(name, figures) {
  for (const [kind, options] of Object.entries({
    light: { colorScheme: "light" },
    dark: { colorScheme: "dark" },
    phone: { colorScheme: "light", viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true },
  })) {
    await check(`${name}, ${kind}`, async () => {
      const { page, context, complaints } = await open(`${name}.html`, options);
      await standing(page, figures);
      await contrast(page);
      await page.screenshot({ path: join(out, `${name}-${kind}.png`), fullPage: true });
      if (kind === "light") {
        const before = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
        await page.click(".theme");
        must(before !== (await page.evaluate(() => getComputedStyle(document.body).backgroundColor)), "the theme stays");
        await contrast(page);
        const pdf = await page.pdf({ format: "A4", path: join(out, `${name}.pdf`) });
        must(pdf.length > 20000 && pdf.subarray(0, 4).toString() === "%PDF", "no PDF");
      }
      must(complaints.length === 0, complaints.join("; "));
      await context.close();
    });
  }
  await check(`${name}, without script`, async () => {
    const { page, context } = await open(`${name}.html`, { javaScriptEnabled: false });
    for (const id of figures) must((await page.locator(`#${id} svg.fig`).boundingBox()).width > 200, `no ${id}`);
    must(!(await page.locator(".theme").isVisible()), "a button that does nothing is shown");
    await context.close();
  });
  await check(`${name}, by keyboard`, async () => {
    const { page, context } = await open(`${name}.html`);
    const wanted = await page.evaluate(() => {
      const all = [...document.querySelectorAll("a,button,select,summary,[tabindex='0']")].filter((n) => n.getClientRects().length);
      all.forEach((node, k) => (node.dataset.reach = k));
      return all.length;
    });
    const reached = new Set();
    for (let k = 0; k < wanted + 3; k++) {
      await page.keyboard.press("Tab");
      reached.add(await page.evaluate(() => document.activeElement?.dataset?.reach));
    }
    reached.delete(undefined);
    must(reached.size === wanted, `${reached.size} of ${wanted} controls are reached`);
    await context.close();
  });
}

async function maps() {
  const { page, context, complaints } = await open("fit.html");
  const tip = page.locator(".tip");
  await check("hover tells the row and its class", async () => {
    // The last point lies on top of the others.
    const point = page.locator("#after .p").last();
    await point.scrollIntoViewIfNeeded();
    const box = await point.boundingBox();
    await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
    await tip.waitFor({ state: "visible", timeout: 2000 });
    must(/(line|row) \d+: /.test(await tip.textContent()), `the tip says ${await tip.textContent()}`);
    await page.mouse.move(5, 5);
    await tip.waitFor({ state: "hidden", timeout: 2000 });
  });
  await check("rows are reached by the arrow keys", async () => {
    await page.focus("#after svg.fig");
    await page.keyboard.press("ArrowRight");
    const first = await tip.textContent();
    await page.keyboard.press("ArrowRight");
    must((await tip.isVisible()) && (await tip.textContent()) !== first, "the second row is not told");
    await page.keyboard.press("Escape");
    must(!(await tip.isVisible()), "Escape does not hide it");
  });
  await check("classes are toggled by keyboard, on both maps", async () => {
    const visible = () => page.$$eval("#before .p, #after .p", (all) => all.filter((n) => getComputedStyle(n).display !== "none").length);
    const before = await visible();
    await page.focus(".key >> nth=0");
    await page.keyboard.press("Space");
    const after = await visible();
    must(after < before && after > 0, `${before} rows, then ${after}`);
    must((await page.getAttribute(".key >> nth=0", "aria-pressed")) === "false", "it is still pressed");
    await page.keyboard.press("Space");
    must((await visible()) === before, "they do not come back");
  });
  await check("the script draws what was drawn, turns and zooms", async () => {
    const places = () => page.$$eval("#after .p", (all) => all.slice(0, 40).map((n) => [+n.getAttribute("x"), +n.getAttribute("y")]));
    const drawn = await places();
    await page.click("#after [data-zoom=all]");
    const again = await places();
    must(drawn.every((p, k) => Math.hypot(p[0] - again[k][0], p[1] - again[k][1]) < 0.7), "the script draws other places");
    await page.click("#after [data-zoom=in]");
    const near = await places();
    must(near.some((p, k) => Math.hypot(p[0] - again[k][0], p[1] - again[k][1]) > 3), "zoom does nothing");
    await page.click("#after [data-zoom=all]");
    await page.selectOption("#after [data-axis=b]", "2");
    const turned = await places();
    must(turned.some((p, k) => Math.abs(p[1] - again[k][1]) > 3), "another direction draws the same");
    must((await page.textContent("#after .yname")).includes("direction 3"), "the axis keeps its name");
  });
  await check("no complaints after all that", async () => must(complaints.length === 0, complaints.join("; ")));
  await context.close();
}

async function hostile() {
  await check("names that are markup are shown as text", async () => {
    const { page, context, complaints } = await open("hostile.html");
    must((await page.title()).includes("hostile.csv"), `the title is ${await page.title()}`);
    const text = await page.evaluate(() => document.body.innerText + [...document.querySelectorAll("svg text,svg title")].map((n) => n.textContent).join("\n"));
    for (const [kind, name] of Object.entries(HOSTILE)) must(text.includes(name), `${kind} is not shown`);
    must((await page.locator("main script").count()) === 0, "a script came in");
    must(complaints.length === 0, complaints.join("; "));
    await context.close();
  });
}

async function files() {
  for (const name of [...readdirSync(join(out, "plots")).map((n) => join("plots", n)), "map.svg"]) {
    await check(name, async () => {
      const { page, context, complaints } = await open(name);
      const box = await page.evaluate(() => {
        const { width, height } = document.documentElement.getBoundingClientRect();
        return [document.documentElement.tagName, width, height, document.querySelector("parsererror")];
      });
      must(box[0] === "svg" && box[1] > 200 && box[2] > 60 && !box[3], `it is ${box}`);
      must(complaints.length === 0, complaints.join("; "));
      await context.close();
    });
  }
  await check("a page of 700 rows is small", async () => must(statSync(join(out, "fit.html")).size < 1e6, "1 MB or more"));
}

const pages = makePages();
for (const [name, figures] of Object.entries(pages)) await looks(name, figures);
await maps();
await hostile();
await files();
await browser.close();
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);
