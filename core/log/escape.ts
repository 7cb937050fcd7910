// Control characters move the cursor of a terminal or start a new line; format characters reorder or hide text.
const unsafe = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g

const short: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' }

/** A colour or another style of text. */
const style = /\u001b\[[\d;]*m/g

/** Makes text of several lines safe to print, and keeps its line breaks, tabs and styles. */
export function escapeLines(text: string): string {
  const styles = text.match(style) ?? []
  const parts = text
    .split(style)
    .map((part) => part.replace(unsafe, (char) => (char === '\n' || char === '\t' ? char : escapeControls(char))))
  return parts.map((part, i) => `${part}${styles[i] ?? ''}`).join('')
}

/** Makes untrusted text safe to print: it stays on one line and cannot control the terminal. */
export function escapeControls(text: string): string {
  return text.replace(unsafe, (char) => short[char] ?? `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`)
}
