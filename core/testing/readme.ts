/** First cells of the table under `## <section>` of a Markdown text, without back-ticks; two cells for `columns: 2`. */
export function tableKeys(markdown: string, section: string, columns = 1): readonly string[] {
  const body = sectionOf(markdown, section)
  const rows = body.split('\n').filter((line) => line.startsWith('|'))
  return rows.slice(2).map((row) =>
    row
      .split('|')
      .slice(1, 1 + columns)
      .map((cell) => cell.replaceAll('`', '').trim())
      .join(' '),
  )
}

function sectionOf(markdown: string, section: string): string {
  const start = markdown.search(new RegExp(`^## ${section}\\s*$`, 'm'))
  if (start < 0) return ''
  const rest = markdown.slice(start + 3)
  const end = rest.search(/^## /m)
  return end < 0 ? rest : rest.slice(0, end)
}

/** `worker:status <name> [--json]` → `worker:status`. */
export function commandName(usage: string): string {
  return usage.split(/\s+(?=[<[-])/)[0] ?? usage
}
