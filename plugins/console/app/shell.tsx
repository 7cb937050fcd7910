import { type FunctionComponent, h } from 'preact'
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks'
import type { ConsolePlace } from '../contract.js'
import { additions, navigation, pageAt } from './additions.js'
import { useNow } from './data/clock.js'
import { session } from './data/session.js'
import { useValue } from './data/signal.js'
import { live, paused, reconnect } from './data/stream.js'
import { duration } from './format.js'
import { KeyHelp, openHelp } from './help.js'
import { bind } from './keys.js'
import { openPalette, Palette } from './palette.js'
import { router, useAddress } from './router.js'
import { nextTheme, theme } from './theme.js'
import { QuestionDialog } from './ui/dialog.js'
import { Guarded } from './ui/guarded.js'
import { Icon } from './ui/icon.js'
import { Page } from './ui/layout.js'
import { Link } from './ui/link.js'
import { Empty } from './ui/states.js'
import { Toasts } from './ui/toast.js'

/** The frame of every page. */
export function Shell() {
  const { path, search } = useAddress()
  useValue(additions)
  const found = pageAt(path, search)
  // Before the page is painted: whoever sees it can use the keys.
  useLayoutEffect(
    () =>
      bind([
        { keys: '/', title: 'Search (also Ctrl K)', group: 'Everywhere', run: openPalette },
        { keys: '?', title: 'Keyboard shortcuts', group: 'Everywhere', run: openHelp },
        { keys: 'p', title: 'Pause or resume updates', group: 'Everywhere', run: () => paused.set(!paused.value) },
        { keys: 't', title: 'Change the theme', group: 'Everywhere', run: nextTheme },
        ...navigation().flatMap((page) =>
          page.nav.key === undefined
            ? []
            : [{ keys: `g ${page.nav.key}`, title: page.title, group: 'Go to' as const, run: () => router.go(page.path) }],
        ),
      ]),
    [additions.value],
  )
  useFocusOnNewPage(path)
  return (
    <>
      <a class="skip" href="#content">
        Skip to content
      </a>
      <Rail path={path} />
      <div class="frame">
        <Header />
        <main id="content" tabIndex={-1}>
          {found === undefined ? (
            <Page title="Not found">
              <Empty title="This page does not exist, or your credentials do not cover it">
                <Link to="/">Go to the overview</Link>
              </Empty>
            </Page>
          ) : (
            <Guarded key={path}>{h(found.page.view as FunctionComponent<ConsolePlace>, found.place)}</Guarded>
          )}
        </main>
      </div>
      <QuestionDialog />
      <Palette />
      <KeyHelp />
      <Toasts />
    </>
  )
}

/** Moves the focus to the title after navigation, for keyboard and screen-reader users. */
function useFocusOnNewPage(path: string): void {
  const isFirst = useRef(true)
  useEffect(() => {
    if (isFirst.current) isFirst.current = false
    else document.querySelector<HTMLElement>('h1')?.focus({ preventScroll: true })
  }, [path])
}

function Rail({ path }: { readonly path: string }) {
  const current = navigation().findLast((page) => page.path === path || (page.path !== '/' && path.startsWith(`${page.path}/`)))
  return (
    <nav class="rail" aria-label="Pages">
      <div class="rail-name" title={session.value?.app.name}>
        {session.value?.app.name}
      </div>
      <ul>
        {navigation().map((page) => (
          <li key={page.path}>
            <Link to={page.path} current={page === current} title={page.title}>
              <Icon name={page.nav.icon} />
              <span>{page.title}</span>
            </Link>
          </li>
        ))}
      </ul>
    </nav>
  )
}

function Header() {
  const boot = session.value
  const chosen = useValue(theme)
  if (boot === undefined) return null
  const { app, readOnly } = boot
  return (
    <header class="top">
      <span class={app.production ? 'environment production' : 'environment'}>
        {[app.environment, app.region].filter((part) => part !== undefined).join(' · ')}
      </span>
      {readOnly && <span class="environment">read-only</span>}
      <button type="button" class="search-button" onClick={openPalette} aria-label="Search">
        <Icon name="search" />
        <span class="search-text">Search</span>
        <kbd>/</kbd>
      </button>
      <LiveState />
      <button
        type="button"
        class="button icon-only"
        onClick={nextTheme}
        aria-label={`Theme: ${chosen === 'auto' ? 'system' : chosen}`}
        title={`Theme: ${chosen === 'auto' ? 'system' : chosen}`}
      >
        <Icon name={chosen === 'auto' ? 'auto' : chosen === 'light' ? 'sun' : 'moon'} />
      </button>
      <button
        type="button"
        class="button icon-only hide-phone"
        onClick={openHelp}
        aria-label="Keyboard shortcuts"
        title="Keyboard shortcuts (?)"
      >
        <Icon name="help" />
      </button>
    </header>
  )
}

function LiveState() {
  const state = useValue(live)
  const stopped = useValue(paused)
  const now = useNow()
  if (state.kind === 'waiting') {
    return (
      <button type="button" class="live-state waiting" onClick={reconnect} title="Reconnect now">
        <span class="live-dot" aria-hidden="true" />
        reconnecting {duration(Math.max(1000, Math.ceil((state.retryAt - now) / 1000) * 1000))}
      </button>
    )
  }
  if (state.kind === 'refused') {
    return (
      <button
        type="button"
        class="live-state waiting"
        onClick={reconnect}
        title="The app does not accept your credentials for these updates"
      >
        <span class="live-dot" aria-hidden="true" />
        no updates
      </button>
    )
  }
  const word = stopped ? 'paused' : state.kind === 'live' ? 'live' : state.kind === 'connecting' ? 'connecting' : 'on demand'
  return (
    <button
      type="button"
      class={`live-state ${stopped ? 'paused' : state.kind}`}
      onClick={() => paused.set(!stopped)}
      aria-pressed={stopped}
      title={stopped ? 'Resume updates (p)' : 'Pause updates (p)'}
    >
      <span class="live-dot" aria-hidden="true" />
      {word}
    </button>
  )
}
