// Everything written on screen, in the reader's language; the same files serve the server.

import { missing, NONE } from "./numbers.js";

const KEY = "innerview-language";
const chosen = new URLSearchParams(location.search).get("lang") ?? localStorage.getItem(KEY);
export let language = (chosen ?? navigator.language ?? "en").startsWith("zh") ? "zh" : "en";
export const wasChosen = chosen !== null;
let words = {}, loading = null;

const fetchWords = async () => (await fetch(`api/words/${language}`)).json();
export const loadWords = () => (loading ??= fetchWords().then((fetched) => { words = fetched; }));

// Gradio's own components follow the browser's language; the one chosen on the page goes before it. The function is not
// promised to be there; false: it is not, and they stay as they are.
export async function followLanguage() {
  document.documentElement.lang = language;
  const core = performance.getEntriesByType("resource").find(({ name }) => /\/assets\/core-[^/]*\.js$/.test(name));
  const { changeLocale } = core ? await import(core.name) : {};
  await changeLocale?.(language);
  nameTabs();
  return Boolean(changeLocale);
}

// Gradio leaves the names of tabs that have not been opened yet as they were.
function nameTabs() {
  const { components, i18n_translations: translations } = window.gradio_config;
  for (const { type, props: { id, label } } of components) {
    const message = type === "tabitem" && label.match(/"key": "([^"]*)"/)?.[1], button = message && document.getElementById(`tab-${id}-button`);
    const written = button && [...button.childNodes].find((node) => node.nodeType === Node.TEXT_NODE && node.data.trim());
    if (written) written.data = translations[language]?.[message] ?? message;
  }
}

// Everything said from now on is in another language; whoever has said something before says it again.
export async function speak(next) {
  localStorage.setItem(KEY, next);
  language = next;
  words = await fetchWords();
  return followLanguage();
}

// "{share:.0%} of {n:,}" with Python's format marks, as on the server
export function say(key, values = {}) {
  if (!(key in words)) throw new Error(`no words for ${key}`);
  return words[key].replace(/\{(\w+)(?::([^}]*))?\}/g, (_, name, mark) => format(values[name], mark ?? ""));
}

export const has = (key) => key in words;

export function format(value, mark) {
  if (missing(value)) return NONE;
  const [, comma, digits, kind] = mark.match(/^(,?)(?:\.(\d+))?([%f]?)$/) ?? [];
  if (kind === "%") return `${share(100 * value, Number(digits ?? 0))}${language === "zh" ? "%" : " %"}`;
  if (kind === "f" || digits) return minus(Number(value).toFixed(digits ?? 2));
  return comma ? Number(value).toLocaleString("en-US") : String(value);
}

// what is not nothing is not written as 0.0
function share(percent, digits) {
  const written = minus(percent.toFixed(digits)), least = 10 ** -digits;
  return percent > 0 && Number(written) === 0 ? `< ${least.toFixed(digits)}` : written;
}

const minus = (digits) => digits.replace(/^-/, /[1-9]/.test(digits) ? "−" : ""); // a true one, and none before zero

// A sentence into an element, its **stressed** parts in bold; always as text, never as markup. A number and its unit
// ("57.0 %.", "1.5 × 10⁻⁷") stay on one line.
export function sayInto(element, sentence) {
  element.replaceChildren(...sentence.split("**").flatMap((part, i) => (i % 2 ? [inside("b", part)] : unbroken(part))));
}

const WITH_UNIT = /([−\d][\d.,]*(?: %| × 10[⁻⁰¹²³⁴-⁹]+)[.,;:)]?)/;
const unbroken = (text) => text.split(WITH_UNIT).map((part, i) => (i % 2 ? inside("span", part, "unbroken") : document.createTextNode(part)));

function inside(tag, text, className = "") {
  const element = document.createElement(tag);
  element.textContent = text;
  if (className) element.className = className;
  return element;
}

export const inLanguage = (text) => text[language];
