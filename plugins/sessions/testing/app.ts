import { definePlugin, Type } from 'zin'
import { sessionsService } from 'zin/plugins/sessions'
import type { TestHost } from 'zin/testing'

declare module 'zin/plugins/sessions' {
  interface SessionData {
    cart: readonly string[]
    color: string
    visits: number
    big: unknown
  }
}

/** What a test waits for in the middle of a request. */
export class Gate {
  readonly reached: Promise<void>
  readonly passed: Promise<void>
  #reach: () => void = () => undefined
  #pass: () => void = () => undefined

  constructor() {
    this.reached = new Promise((resolve) => {
      this.#reach = resolve
    })
    this.passed = new Promise((resolve) => {
      this.#pass = resolve
    })
  }

  wait(): Promise<void> {
    this.#reach()
    return this.passed
  }

  open(): void {
    this.#pass()
  }
}

/** Routes that use sessions. `gates` holds requests with the header `x-gate` after they have changed the session. */
export const sessionRoutes = (use: readonly string[] = [], gates = new Map<string, Gate>()) =>
  definePlugin({
    name: 'session-routes',
    version: '1.0.0',
    uses: { sessions: sessionsService },
    setup(ctx) {
      const get = { method: 'GET', summary: 'For tests', use } as const
      const post = { method: 'POST', summary: 'For tests', use } as const
      ctx.route({ ...get, path: '/untouched', handler: () => ({ ok: true }) })
      ctx.route({ ...get, path: '/read', handler: ({ session }) => ({ ...session, user: session.user?.sub ?? null }) })
      ctx.route({ ...get, path: '/token', handler: ({ session }) => ({ token: session.csrfToken }) })
      ctx.route({
        ...post,
        path: '/set',
        body: Type.Record(Type.String(), Type.Unknown()),
        handler: async (request) => {
          const { _csrf, ...data } = request.input.body
          Object.assign(request.session, data)
          await gates.get(request.get('x-gate'))?.wait()
          return { ok: true }
        },
      })
      ctx.route({
        ...post,
        path: '/form',
        bodyType: 'form',
        handler: (request) => {
          request.session.color = 'from a form'
          return { ok: true }
        },
      })
      ctx.route({
        ...post,
        path: '/fails',
        handler: ({ session }) => {
          session.color = 'failed'
          throw new Error('for the test')
        },
      })
      ctx.route({
        ...post,
        path: '/sign-in',
        bodyType: 'form',
        handler: (request) => {
          request.session.signIn({ sub: request.get('x-sub') || 'ada' })
          return { ok: true }
        },
      })
      ctx.route({
        ...post,
        path: '/regenerate',
        handler: async (request) => {
          request.session.regenerate()
          await gates.get(request.get('x-gate'))?.wait()
        },
      })
      ctx.route({ ...post, path: '/sign-out', handler: ({ session }) => void session.destroy() })
      ctx.route({ ...post, path: '/ignores', handler: () => ({ ok: true }) })
      ctx.route({
        ...post,
        path: '/bigint',
        handler: (request) => {
          request.session.big = 1n
        },
      })
      ctx.route({
        ...get,
        path: '/restart',
        handler: ({ session }) => {
          session.destroy()
          session.color = 'new'
          return { ok: true }
        },
      })
    },
  })()

export interface Reply {
  readonly status: number
  // biome-ignore lint/suspicious/noExplicitAny: as JSON.parse gives it
  readonly body: any
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly setCookie: string | undefined
}

/** A browser that keeps one cookie and the CSRF token of the app. */
export class Browser {
  readonly #host: TestHost
  cookie: string | undefined
  token: string | undefined

  constructor(host: TestHost, cookie?: string) {
    this.#host = host
    this.cookie = cookie
  }

  /** A copy with the same cookie. */
  copy(): Browser {
    const copy = new Browser(this.#host, this.cookie)
    copy.token = this.token
    return copy
  }

  async send(
    method: string,
    path: string,
    { body, headers = {} }: { body?: unknown; headers?: Record<string, string> } = {},
  ): Promise<Reply> {
    const response = await this.#host.inject({
      method,
      path,
      headers: {
        ...(this.cookie !== undefined && { cookie: this.cookie }),
        ...(this.token !== undefined && method !== 'GET' && { 'x-csrf-token': this.token }),
        ...headers,
      },
      ...(body !== undefined && { body }),
    })
    const list = response.headers['set-cookie']
    const setCookie = Array.isArray(list) ? list[0] : list
    if (setCookie !== undefined) {
      const pair = setCookie.split(';')[0] as string
      this.cookie = pair.endsWith('=') ? undefined : pair
      this.token = response.headers['x-csrf-token'] as string | undefined
    }
    return { status: response.status, body: response.body, headers: response.headers, setCookie }
  }

  get(path: string): Promise<Reply> {
    return this.send('GET', path)
  }

  set(data: object, headers: Record<string, string> = {}): Promise<Reply> {
    return this.send('POST', '/set', { body: data, headers })
  }
}
