import { toast } from './toast.js'

/** Levels that are expanded initially, and entries shown per list or object. */
const openLevels = 2
const mostEntries = 200

/** Collapsible JSON. A click on a name copies its path. */
export function JsonView({ value }: { readonly value: unknown }) {
  return (
    <div class="json mono">
      <Node value={value} path="$" level={0} />
    </div>
  )
}

function Node({
  level,
  name,
  path,
  value,
}: {
  readonly value: unknown
  readonly path: string
  readonly level: number
  readonly name?: string
}) {
  const key = name === undefined ? null : <Name name={name} path={path} />
  if (value === null || typeof value !== 'object') {
    return (
      <div class="json-line">
        {key}
        <span class={`json-${value === null ? 'null' : typeof value}`}>{JSON.stringify(value) ?? 'undefined'}</span>
      </div>
    )
  }
  const isList = Array.isArray(value)
  const entries = Object.entries(value)
  const [open, close] = isList ? ['[', ']'] : ['{', '}']
  if (entries.length === 0) {
    return (
      <div class="json-line">
        {key}
        {open}
        {close}
      </div>
    )
  }
  return (
    <details class="json-node" open={level < openLevels}>
      <summary>
        {key}
        {open}
        <span class="dim"> {entries.length === 1 ? '1 entry' : `${entries.length} entries`} </span>
        {close}
      </summary>
      <div class="json-children">
        {entries.slice(0, mostEntries).map(([child, entry]) => (
          <Node key={child} name={child} value={entry} path={isList ? `${path}[${child}]` : `${path}.${child}`} level={level + 1} />
        ))}
        {entries.length > mostEntries && <div class="dim">{entries.length - mostEntries} more; download to see all</div>}
      </div>
    </details>
  )
}

function Name({ name, path }: { readonly name: string; readonly path: string }) {
  return (
    <button
      type="button"
      class="json-name"
      title={`Copy ${path}`}
      onClick={(event) => {
        event.preventDefault()
        void copyText(path)
      }}
    >
      {name}:
    </button>
  )
}

export async function copyText(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text)
    toast('ok', `Copied ${text.length > 60 ? `${text.slice(0, 59)}…` : text}`)
  } catch {
    toast('bad', 'The browser blocked access to the clipboard')
  }
}
