/**
 * A plugin's contribution to the console: an ES module for the browser that default-exports a {@link ConsoleModule}.
 *
 * @example
 * ctx.hooks.on('collectConsole', () => ({ module: new URL('./console-page.js', import.meta.url), permission: 'mail:read' }))
 */
export interface ConsoleContribution {
  /**
   * A JavaScript file without imports, at most 1 MiB. Anyone who can open the console's URL can read it, so it must not contain secrets.
   */
  readonly module: URL
  /** Permission required to see its pages and panels; see `permissions` of the plugin `ops`. Default: none, everyone sees them. */
  readonly permission?: string
}

/** Renderable content: the result of {@link ConsoleKit.h}, text, a number, nothing, or a list of these. Text is never parsed as HTML. */
// biome-ignore lint/suspicious/noExplicitAny: nodes of the renderer are opaque
export type ConsoleNode = any

/** A component: called again whenever something it renders has changed. */
export type ConsoleView<P = object> = (props: P) => ConsoleNode

/** Icons of the console, 16 px. */
export type ConsoleIcon =
  | 'overview'
  | 'queue'
  | 'worker'
  | 'clock'
  | 'flow'
  | 'decision'
  | 'resource'
  | 'plugin'
  | 'access'
  | 'canary'
  | 'audit'
  | 'subject'
  | 'health'
  | 'webhook'
  | 'page'

/**
 * A permission of the caller: those of the queue monitor, `operate` for the APIs behind the guard `ops`, and `subjects` for the
 * permission `compliance:subjects`.
 */
export type ConsoleAbility = 'write' | 'admin' | 'payload' | 'operate' | 'subjects'

/** The route of a page: path parameters and query string. */
export interface ConsolePlace {
  /** Path parameters by name, decoded. */
  readonly params: Readonly<Record<string, string>>
  /** The query string of the URL. */
  readonly query: URLSearchParams
}

/** A page of the console. Built-in pages use the same interface. */
export interface ConsolePage {
  /** Path below `/console`, such as `/mails` or `/mails/:box`. */
  readonly path: string
  /** Title of the page and label of its navigation entry. */
  readonly title: string
  /** The navigation entry. Default: none. */
  readonly nav?: {
    readonly icon: ConsoleIcon
    /** Lower comes first. Built-in pages use 10, 20, … Default: 1000. */
    readonly order?: number
    /** Keyboard shortcut: opens the page when pressed after `g`. */
    readonly key?: string
  }
  /** Shown only while this plugin is enabled. */
  readonly plugin?: string
  /** Shown only to callers with this permission. */
  readonly may?: ConsoleAbility
  readonly view: ConsoleView<ConsolePlace>
}

/** A panel on a built-in page. */
export interface ConsolePanel {
  /** The page at whose end the panel is shown. */
  readonly on: 'overview' | 'queue' | 'job' | 'worker'
  readonly title: string
  /** Shown only while this plugin is enabled. */
  readonly plugin?: string
  readonly view: ConsoleView<ConsolePlace>
}

/** Pages and panels added by a module. */
export interface ConsoleAdditions {
  readonly pages?: readonly ConsolePage[]
  readonly panels?: readonly ConsolePanel[]
}

/** The default export of a contributed module, called once. */
export type ConsoleModule = (kit: ConsoleKit) => ConsoleAdditions

/** The state of data fetched from the app. */
export interface ConsoleData<T> {
  /** Undefined until the first successful read. Kept when a later read fails. */
  readonly data: T | undefined
  readonly error: { readonly status: number; readonly code: string; readonly message: string } | undefined
  readonly loading: boolean
  /** Time of the last successful read, in ms since the Unix epoch. */
  readonly at: number | undefined
  reload(): void
}

/** A column of a table. */
export interface ConsoleColumn<Row> {
  readonly key: string
  readonly title: string
  readonly cell: (row: Row) => ConsoleNode
  /** Right-aligned. Default: false. */
  readonly numeric?: boolean
  /** Sort key of a row. Default: the column is not sortable. */
  readonly sort?: (row: Row) => number | string
  /** Hidden below a width of 640 px (`phone`) or 1100 px (`tablet`). */
  readonly hideOn?: 'phone' | 'tablet'
  /** Width in CSS. */
  readonly width?: string
}

/** The components and functions passed to a module. */
export interface ConsoleKit {
  /** Creates a node: `h('p', { class: 'dim' }, 'text')` or `h(kit.Table, { … })`. */
  // biome-ignore lint/suspicious/noExplicitAny: attributes differ by element and component
  readonly h: (type: string | ConsoleView<any>, props?: object | null, ...children: ConsoleNode[]) => ConsoleNode
  /** State of a view. */
  readonly useState: <T>(initial: T) => [T, (next: T) => void]
  /** Fetches JSON from the app: `useData('/api/mails', { refresh: 5000 })`, `refresh` in ms. Paused while the tab is hidden. */
  readonly useData: <T>(path: string | undefined, options?: { readonly refresh?: number }) => ConsoleData<T>
  /** Sends a mutating request and returns the response body. Throws an error with `status`, `code` and `message`. */
  readonly send: <T>(method: 'POST' | 'PUT' | 'DELETE', path: string, body?: unknown) => Promise<T>
  /** A page with a title, actions next to the title, and content. */
  readonly Page: ConsoleView<{ readonly title: string; readonly actions?: ConsoleNode; readonly children?: ConsoleNode }>
  /** A framed section of a page. */
  readonly Card: ConsoleView<{ readonly title?: string; readonly children?: ConsoleNode }>
  /** A virtualized table: only visible rows are in the document. `empty` is shown when there are no rows. */
  readonly Table: ConsoleView<{
    readonly label: string
    // biome-ignore lint/suspicious/noExplicitAny: the type of a row belongs to the caller
    readonly rows: readonly any[]
    // biome-ignore lint/suspicious/noExplicitAny: the type of a row belongs to the caller
    readonly columns: readonly ConsoleColumn<any>[]
    // biome-ignore lint/suspicious/noExplicitAny: the type of a row belongs to the caller
    readonly rowKey: (row: any) => string
    // biome-ignore lint/suspicious/noExplicitAny: the type of a row belongs to the caller
    readonly href?: (row: any) => string
    readonly empty?: ConsoleNode
  }>
  /** A word with an icon, coloured by tone. */
  readonly Badge: ConsoleView<{ readonly tone: 'neutral' | 'ok' | 'info' | 'warn' | 'bad'; readonly children?: ConsoleNode }>
  /** A number with its label. */
  readonly Stat: ConsoleView<{ readonly label: string; readonly value: ConsoleNode; readonly hint?: string; readonly href?: string }>
  /** A time relative to now, with the absolute time on hover. */
  readonly Time: ConsoleView<{ readonly at: string | number | null }>
  /** Renders `data`, or a loading, error or access-denied state. */
  readonly Loaded: ConsoleView<{
    // biome-ignore lint/suspicious/noExplicitAny: the type of the data belongs to the caller
    readonly from: ConsoleData<any>
    // biome-ignore lint/suspicious/noExplicitAny: the type of the data belongs to the caller
    readonly children: (data: any) => ConsoleNode
  }>
  /** A link inside the console: `h(kit.Link, { to: '/mails/inbox' }, 'Inbox')`. */
  readonly Link: ConsoleView<{ readonly to: string; readonly children?: ConsoleNode }>
  /** A button that asks for confirmation if `confirm` is set. `typed`: text that must be typed to confirm. */
  readonly ActionButton: ConsoleView<{
    readonly label: string
    readonly tone?: 'bad'
    readonly confirm?: { readonly title: string; readonly text: string; readonly typed?: string }
    readonly run: () => Promise<string | undefined>
  }>
  readonly format: {
    /** `1.2 M` */
    readonly count: (value: number) => string
    /** From ms: `340 ms`, `1.2 s`, `2 h 05` */
    readonly duration: (ms: number) => string
    /** From a ratio of 0–1: `14.3 %` */
    readonly percent: (ratio: number) => string
    readonly bytes: (bytes: number) => string
  }
}
