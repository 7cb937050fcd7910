import type { ComponentChildren } from 'preact'
import { useEffect } from 'preact/hooks'
import { session } from '../data/session.js'
import { Link } from './link.js'

interface PageProps {
  readonly title: string
  /** Breadcrumb, shown before the title. */
  readonly parent?: { readonly title: string; readonly to: string } | undefined
  readonly badge?: ComponentChildren
  readonly actions?: ComponentChildren
  readonly children?: ComponentChildren
}

export function Page({ actions, badge, children, parent, title }: PageProps) {
  useEffect(() => {
    document.title = `${title} · ${session.value?.app.name ?? 'Console'}`
  }, [title])
  return (
    <>
      <div class="page-head">
        <div class="page-title">
          {parent !== undefined && (
            <>
              <Link to={parent.to} class="crumb">
                {parent.title}
              </Link>
              <span class="dim" aria-hidden="true">
                /
              </span>
            </>
          )}
          <h1 tabIndex={-1} title={title}>
            {title}
          </h1>
          {badge}
        </div>
        {actions !== undefined && <div class="page-actions">{actions}</div>}
      </div>
      {children}
    </>
  )
}

export function Card(props: {
  readonly title?: string | undefined
  readonly aside?: ComponentChildren
  readonly flush?: boolean
  readonly children?: ComponentChildren
}) {
  const { aside, children, flush = false, title } = props
  return (
    <section class={flush ? 'card flush' : 'card'} aria-label={title}>
      {title !== undefined && (
        <div class="card-head">
          <h2>{title}</h2>
          {aside}
        </div>
      )}
      {children}
    </section>
  )
}

interface StatProps {
  readonly label: string
  readonly value: ComponentChildren
  readonly hint?: ComponentChildren
  readonly href?: string | undefined
  readonly children?: ComponentChildren
}

/** A number with its label. With `href` it links to what it counts. */
export function Stat({ children, hint, href, label, value }: StatProps) {
  const inner = (
    <>
      <span class="stat-label">{label}</span>
      <span class="stat-value">{value}</span>
      {hint !== undefined && <span class="stat-hint">{hint}</span>}
      {children}
    </>
  )
  return href === undefined ? (
    <div class="stat">{inner}</div>
  ) : (
    <Link to={href} class="stat door">
      {inner}
    </Link>
  )
}

/** A list of names and values. */
export function Facts({ of }: { readonly of: readonly (readonly [name: string, value: ComponentChildren])[] }) {
  return (
    <dl class="facts">
      {of.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  )
}

export function Tabs(props: {
  readonly label: string
  readonly tabs: readonly { readonly id: string; readonly title: string; readonly count?: ComponentChildren }[]
  readonly current: string
  readonly choose: (id: string) => void
}) {
  const { choose, current, label, tabs } = props
  const move = (event: KeyboardEvent, by: number): void => {
    const index = tabs.findIndex(({ id }) => id === current)
    const next = tabs[(index + by + tabs.length) % tabs.length]
    if (next === undefined) return
    event.preventDefault()
    choose(next.id)
    const list = (event.currentTarget as HTMLElement).parentElement
    requestAnimationFrame(() => list?.querySelector<HTMLElement>('[aria-selected="true"]')?.focus())
  }
  return (
    <div class="tabs" role="tablist" aria-label={label}>
      {tabs.map(({ count, id, title }) => (
        <button
          key={id}
          type="button"
          role="tab"
          id={`tab-${id}`}
          aria-controls="tab-panel"
          aria-selected={id === current}
          tabIndex={id === current ? 0 : -1}
          onClick={() => choose(id)}
          onKeyDown={(event) => {
            if (event.key === 'ArrowRight') move(event, 1)
            if (event.key === 'ArrowLeft') move(event, -1)
          }}
        >
          {title}
          {count !== undefined && <span class="tab-count">{count}</span>}
        </button>
      ))}
    </div>
  )
}

export function TabPanel({ children, of }: { readonly of: string; readonly children?: ComponentChildren }) {
  return (
    <div role="tabpanel" id="tab-panel" aria-labelledby={`tab-${of}`}>
      {children}
    </div>
  )
}
