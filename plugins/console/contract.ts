/**
 * What a plugin adds to the console: an ES module for the browser, which default-exports a {@link ConsoleModule}.
 *
 * @example
 * ctx.hooks.on('collectConsole', () => ({ module: new URL('./console-page.js', import.meta.url), permission: 'mail:read' }))
 */
export interface ConsoleContribution {
  /** A file of JavaScript without imports, at most 1 MiB. It is code, not data: anybody who can open the console's address can read it. */
  readonly module: URL
  /** Its pages and panels are shown only to callers with this permission; see `permissions` of the plugin `ops`. Default: everybody. */
  readonly permission?: string
}

/** Something to show: what {@link ConsoleKit.h} returns, text, a number, nothing, or a list of these. Text is never read as HTML. */
// biome-ignore lint/suspicious/noExplicitAny: nodes of the renderer are opaque
export type ConsoleNode = any

/** A function that is called again whenever something that it shows has changed. */
export type ConsoleView<P = object> = (props: P) => ConsoleNode

/** Icons of the console, of 16 px. */
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
  | 'page'

/**
 * What a caller may do: the permissions of the queue monitor, `operate` for the APIs behind the guard `ops`, and `subjects` for the
 * permission `compliance:subjects`.
 */
export type ConsoleAbility = 'write' | 'admin' | 'payload' | 'operate' | 'subjects'

/** Where a page stands in the address bar. */
export interface ConsolePlace {
  /** Parts of the path by name, decoded. */
  readonly params: Readonly<Record<string, string>>
  /** The query of the address. */
  readonly query: URLSearchParams
}

/** A page of the console. The built-in ones are made of the same. */
export interface ConsolePage {
  /** Below `/console`: `/mails` or `/mails/:box`. */
  readonly path: string
  /** Title of the page and name of its entry. */
  readonly title: string
  /** Its entry in the navigation; absent: none. */
  readonly nav?: {
    readonly icon: ConsoleIcon
    /** Lower comes first. The built-in pages have 10, 20, … Default 1000. */
    readonly order?: number
    /** The key that opens it after `g`. */
    readonly key?: string
  }
  /** Shown only while this plugin is enabled. */
  readonly plugin?: string
  /** Shown only to callers who may do this. */
  readonly may?: ConsoleAbility
  readonly view: ConsoleView<ConsolePlace>
}

/** A part of a built-in page. */
export interface ConsolePanel {
  /** The page that it stands on, at its end. */
  readonly on: 'overview' | 'queue' | 'job' | 'worker'
  readonly title: string
  /** Shown only while this plugin is enabled. */
  readonly plugin?: string
  readonly view: ConsoleView<ConsolePlace>
}

/** What a module adds. */
export interface ConsoleAdditions {
  readonly pages?: readonly ConsolePage[]
  readonly panels?: readonly ConsolePanel[]
}

/** The default export of a contributed module, called once. */
export type ConsoleModule = (kit: ConsoleKit) => ConsoleAdditions

/** The state of something that is read from the app. */
export interface ConsoleData<T> {
  /** Undefined until it was read once. Kept, while reading it again fails. */
  readonly data: T | undefined
  readonly error: { readonly status: number; readonly code: string; readonly message: string } | undefined
  readonly loading: boolean
  /** When it was read, ms since 1970. */
  readonly at: number | undefined
  reload(): void
}

/** A column of a table. */
export interface ConsoleColumn<Row> {
  readonly key: string
  readonly title: string
  readonly cell: (row: Row) => ConsoleNode
  /** Numbers stand at the right. */
  readonly numeric?: boolean
  /** What the column is sorted by; absent: it cannot be. */
  readonly sort?: (row: Row) => number | string
  /** Hidden below a width of 640 px (`phone`) or 1100 px (`tablet`). */
  readonly hideOn?: 'phone' | 'tablet'
  /** Width in CSS. */
  readonly width?: string
}

/** What a module builds its pages from. */
export interface ConsoleKit {
  /** Makes a node: `h('p', { class: 'dim' }, 'text')` or `h(kit.Table, { … })`. */
  // biome-ignore lint/suspicious/noExplicitAny: attributes differ by element and component
  readonly h: (type: string | ConsoleView<any>, props?: object | null, ...children: ConsoleNode[]) => ConsoleNode
  /** State of a view. */
  readonly useState: <T>(initial: T) => [T, (next: T) => void]
  /** Reads JSON of the app: `useData('/api/mails', { refresh: 5000 })`, `refresh` in ms. Not while the tab is hidden. */
  readonly useData: <T>(path: string | undefined, options?: { readonly refresh?: number }) => ConsoleData<T>
  /** Sends a request that changes something, and returns the body of its response. Throws with `status`, `code` and `message`. */
  readonly send: <T>(method: 'POST' | 'PUT' | 'DELETE', path: string, body?: unknown) => Promise<T>
  /** A page: its title, what stands beside it, its content. */
  readonly Page: ConsoleView<{ readonly title: string; readonly actions?: ConsoleNode; readonly children?: ConsoleNode }>
  /** A framed part of a page. */
  readonly Card: ConsoleView<{ readonly title?: string; readonly children?: ConsoleNode }>
  /** A table, of which only the visible rows are in the document. `empty` is shown when it has none. */
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
  /** A word with a sign, coloured only where it needs a person. */
  readonly Badge: ConsoleView<{ readonly tone: 'neutral' | 'ok' | 'info' | 'warn' | 'bad'; readonly children?: ConsoleNode }>
  /** A number under its name. */
  readonly Stat: ConsoleView<{ readonly label: string; readonly value: ConsoleNode; readonly hint?: string; readonly href?: string }>
  /** A time relative to now, with the absolute one on hover. */
  readonly Time: ConsoleView<{ readonly at: string | number | null }>
  /** Shows `data`, or that it is loading, failed, or may not be seen. */
  readonly Loaded: ConsoleView<{
    // biome-ignore lint/suspicious/noExplicitAny: the type of the data belongs to the caller
    readonly from: ConsoleData<any>
    // biome-ignore lint/suspicious/noExplicitAny: the type of the data belongs to the caller
    readonly children: (data: any) => ConsoleNode
  }>
  /** A link inside the console: `h(kit.Link, { to: '/mails/inbox' }, 'Inbox')`. */
  readonly Link: ConsoleView<{ readonly to: string; readonly children?: ConsoleNode }>
  /** A button that asks first. `typed`: what has to be typed to go on. */
  readonly ActionButton: ConsoleView<{
    readonly label: string
    readonly tone?: 'bad'
    readonly confirm?: { readonly title: string; readonly text: string; readonly typed?: string }
    readonly run: () => Promise<string | undefined>
  }>
  readonly format: {
    /** `1.2 M` */
    readonly count: (value: number) => string
    /** Of ms: `340 ms`, `1.2 s`, `2 h 05` */
    readonly duration: (ms: number) => string
    /** Of 0–1: `14.3 %` */
    readonly percent: (ratio: number) => string
    readonly bytes: (bytes: number) => string
  }
}
