import type { ComponentChildren } from 'preact'
import { base, router } from '../router.js'

/** A link inside the console. Clicks with a modifier key are left to the browser. */
export function Link(props: {
  readonly to: string
  readonly children?: ComponentChildren
  readonly class?: string | undefined
  readonly title?: string | undefined
  readonly current?: boolean | undefined
  readonly label?: string | undefined
}) {
  const { children, current, label, title, to } = props
  const href = `${base}${to === '/' ? '' : to}`
  return (
    <a
      href={href}
      class={props.class}
      title={title}
      aria-label={label}
      aria-current={current ? 'page' : undefined}
      onClick={(event) => {
        if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey || event.button !== 0) return
        event.preventDefault()
        router.go(to)
      }}
    >
      {children}
    </a>
  )
}
