// Control characters move the cursor of a terminal or start a new line; format characters reorder or hide text.
const unsafe = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g

const short: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' }

/** Makes text of several lines safe to print, and keeps its line breaks and tabs. Styles are escaped too: one of them hides text. */
export function escapeLines(text: string): string {
  return text.replace(unsafe, (char) => (char === '\n' || char === '\t' ? char : escapeControls(char)))
}

/** Makes untrusted text safe to print: it stays on one line and cannot control the terminal. */
export function escapeControls(text: string): string {
  return text.replace(unsafe, (char) => short[char] ?? `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`)
}
