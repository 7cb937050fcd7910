type Json = Readonly<Record<string, unknown>>

/** The parts of an OpenAPI document that the page shows. */
interface Document {
  readonly info: { readonly title: string; readonly version: string }
  readonly tags: readonly { readonly name: string }[]
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
}

interface Operation {
  readonly summary: string
  readonly description?: string
  readonly tags: readonly string[]
  readonly parameters?: readonly { readonly name: string; readonly in: string; readonly required: boolean; readonly schema: Json }[]
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: unknown }>> }
  readonly responses: Readonly<
    Record<string, { readonly description: string; readonly content?: Readonly<Record<string, { readonly schema: unknown }>> }>
  >
  readonly 'x-middleware'?: readonly string[]
}

/**
 * Renders the page `/docs`: an OpenAPI document as HTML. It is rendered here, so that the page needs no script and no other file.
 */
export function docsPage(openapi: object): string {
  const document = openapi as Document
  const title = escapeHtml(document.info.title)
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
  )
  const sections = document.tags.map(({ name }) => {
    const rows = operations.filter(({ operation }) => operation.tags.includes(name)).map(renderOperation)
    return `<section id="${escapeHtml(name)}"><h2>${escapeHtml(name)}</h2>${rows.join('')}</section>`
  })
  const links = document.tags.map(({ name }) => `<a href="#${escapeHtml(encodeURIComponent(name))}">${escapeHtml(name)}</a>`)
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}: HTTP API</title><style>${style}</style></head>
<body><header><h1>${title} <small>${escapeHtml(document.info.version)}</small></h1>
<p>${operations.length} routes. <code>zin routes</code> also lists hidden ones, such as this page. As JSON: <a href="/openapi.json">/openapi.json</a></p><nav aria-label="Groups">${links.join(' ')}</nav></header>
<main>${sections.join('')}</main></body></html>
`
}

function renderOperation({ method, path, operation }: { method: string; path: string; operation: Operation }): string {
  const { summary, description, parameters = [], requestBody, responses } = operation
  const needs = operation['x-middleware'] ?? []
  const parts = [
    description && `<p>${escapeHtml(description)}</p>`,
    needs.length > 0 && `<p>Middleware: ${needs.map((key) => `<code>${escapeHtml(key)}</code>`).join(', ')}</p>`,
    parameters.length > 0 && renderParameters(parameters),
    requestBody && `<h3>Body</h3>${renderContent(requestBody.content)}`,
    '<h3>Responses</h3>',
    ...Object.entries(responses).map(
      ([status, response]) =>
        `<h4>${escapeHtml(status)} <small>${escapeHtml(response.description)}</small></h4>${renderContent(response.content ?? {})}`,
    ),
  ]
  const head = `<b class="${escapeHtml(method)}">${escapeHtml(method)}</b> <code>${escapeHtml(path)}</code> <span>${escapeHtml(summary)}</span>`
  return `<details><summary>${head}</summary><div>${parts.filter(Boolean).join('')}</div></details>`
}

function renderParameters(parameters: NonNullable<Operation['parameters']>): string {
  const rows = parameters.map(({ name, in: place, required, schema }) => {
    const { description, ...rest } = schema
    const cells = [
      `<code>${escapeHtml(name)}</code>`,
      place,
      required ? 'required' : 'optional',
      `<code>${escapeHtml(JSON.stringify(rest))}</code>`,
    ]
    return `<tr>${[...cells, escapeHtml(String(description ?? ''))].map((cell) => `<td>${cell}</td>`).join('')}</tr>`
  })
  const heads = ['Name', 'In', '', 'Type', 'Meaning'].map((head) => `<th scope="col">${head}</th>`).join('')
  return `<h3>Parameters</h3><table><thead><tr>${heads}</tr></thead><tbody>${rows.join('')}</tbody></table>`
}

function renderContent(content: Readonly<Record<string, { readonly schema: unknown }>>): string {
  return Object.entries(content)
    .map(
      ([type, { schema }]) =>
        `<p><small>${escapeHtml(type)}</small></p><pre tabindex="0">${escapeHtml(JSON.stringify(schema, null, 2))}</pre>`,
    )
    .join('')
}

const entities: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }

function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => entities[character] as string)
}

const style = `
:root{color-scheme:light dark;--line:#d0d7de;--soft:#f4f6f8;--text:#1f2328;--back:#fff;--link:#0550ae}
@media (prefers-color-scheme:dark){:root{--line:#3d444d;--soft:#1c2128;--text:#e6edf3;--back:#0d1117;--link:#79b8ff}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:60rem;padding:1.5rem;font:1rem/1.5 system-ui,sans-serif;color:var(--text);background:var(--back)}
a{color:var(--link)} nav a{margin-right:.75rem} h2{margin:2rem 0 .5rem} h3,h4{margin:1rem 0 .25rem;font-size:1rem}
code,pre{font:.875rem/1.45 ui-monospace,monospace}
details{border:1px solid var(--line);border-radius:.375rem;margin:.375rem 0} details>div{padding:0 1rem 1rem}
summary{cursor:pointer;padding:.5rem 1rem;overflow-wrap:anywhere} summary b{display:inline-block;min-width:4.5rem}
pre{background:var(--soft);padding:.75rem;overflow:auto;border-radius:.375rem;margin:.25rem 0}
table{border-collapse:collapse;width:100%;display:block;overflow-x:auto} td,th{border-bottom:1px solid var(--line);padding:.25rem .75rem .25rem 0;text-align:left;vertical-align:top}
`
