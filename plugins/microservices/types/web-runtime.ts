/** What every generated client for a front end has at its end: fixed code, independent of the document. */
export const webRuntime = `
/** Sends a request, as \`fetch\` does. */
export type Send = (
  url: string,
  init: Omit<RequestInit, 'headers'> & { readonly headers: { readonly [name: string]: string } },
) => Promise<Response>

/** Options of every call. */
export interface CallOptions {
  readonly headers?: { readonly [name: string]: string }
  readonly signal?: AbortSignal
}

/** A response with a status from 200 to 299. */
export interface Success<Status extends number, Data> {
  readonly ok: true
  readonly status: Status
  readonly headers: Headers
  readonly data: Data
}

/** A response with any other status. */
export interface Failure<Status extends number, Data> {
  readonly ok: false
  readonly status: Status
  readonly headers: Headers
  readonly data: Data
}

/** One operation. Rejects as \`fetch\` does, if there is no response. */
export type Operation<Request extends object, Result> =
  Record<never, never> extends Request
    ? (request?: Request & CallOptions) => Promise<Result>
    : (request: Request & CallOptions) => Promise<Result>

interface Shape {
  readonly method: string
  readonly path: string
  readonly body?: string
}

interface AnyRequest extends CallOptions {
  readonly params?: { readonly [name: string]: unknown }
  readonly query?: { readonly [name: string]: unknown }
  readonly body?: unknown
}

function clientOf<Client extends object>(baseUrl: string, send: Send, shapes: { readonly [Name in keyof Client]: Shape }): Client {
  const call = async (shape: Shape, request: AnyRequest): Promise<object> => {
    const { body, headers = {}, signal } = request
    const isJson = shape.body !== undefined && /json/i.test(shape.body)
    // The browser writes the type of a form with its boundary.
    const typed: { readonly [name: string]: string } =
      body === undefined || shape.body === undefined || /^multipart/i.test(shape.body) ? {} : { 'content-type': shape.body }
    const response = await send(baseUrl.replace(/\\/$/, '') + pathOf(shape.path, request), {
      method: shape.method,
      headers: { ...typed, ...headers },
      ...(signal === undefined ? {} : { signal }),
      ...(body === undefined ? {} : { body: isJson ? JSON.stringify(body) : (body as string) }),
    })
    return { ok: response.ok, status: response.status, headers: response.headers, data: await dataOf(response) }
  }
  return Object.fromEntries(
    Object.entries<Shape>(shapes).map(([name, shape]) => [name, (request: AnyRequest = {}) => call(shape, request)]),
  ) as Client
}

function pathOf(template: string, { params = {}, query = {} }: AnyRequest): string {
  const path = template.replace(/\\{([^{}]+)\\}/g, (_, name: string) => {
    const text = textOf(params[name])
    // Such a segment would change the path.
    if (text === undefined || ['', '.', '..'].includes(text)) throw new TypeError(\`the parameter \${name} of \${template} is missing or empty\`)
    return encodeURIComponent(text)
  })
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(query))
    for (const one of Array.isArray(value) ? value : [value]) {
      const text = textOf(one)
      if (text !== undefined) search.append(name, text)
    }
  const text = search.toString()
  return text === '' ? path : \`\${path}?\${text}\`
}

function textOf(value: unknown): string | undefined {
  if (value === undefined || value === null) return undefined
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

async function dataOf(response: Response): Promise<unknown> {
  const type = response.headers.get('content-type') ?? ''
  if (/^application\\/([\\w.-]+\\+)?json\\b/i.test(type)) {
    const text = await response.text()
    return text === '' ? undefined : JSON.parse(text)
  }
  if (type.startsWith('text/')) return await response.text()
  const bytes = new Uint8Array(await response.arrayBuffer())
  return bytes.length === 0 ? undefined : bytes
}
`
