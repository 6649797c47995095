// Sentences one after another, as the language does it: in Chinese there is no space between them.

import { language } from "./words.js";

export const sentences = (...parts) => parts.filter(Boolean).join(language === "zh" ? "" : " ");
