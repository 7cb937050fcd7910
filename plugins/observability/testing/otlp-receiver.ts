import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A received span. */
export interface ReceivedSpan {
  readonly name: string
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  /** 1 internal, 2 server, 3 client, 4 producer, 5 consumer. */
  readonly kind: number
  readonly attributes: Readonly<Record<string, unknown>>
}

export interface OtlpReceiver {
  readonly url: string
  readonly spans: ReceivedSpan[]
  /** Names of received metrics. */
  readonly metrics: Set<string>
  /** Path and headers of all requests. */
  readonly requests: { readonly path: string; readonly headers: IncomingHttpHeaders }[]
  /** All bodies as text, to check that they do not contain something. */
  readonly text: () => string
  close(): Promise<void>
}

interface Attribute {
  readonly key: string
  readonly value: Readonly<Record<string, unknown>>
}

interface Body {
  readonly resourceSpans?: readonly {
    readonly scopeSpans: readonly {
      readonly spans: readonly (Omit<ReceivedSpan, 'attributes'> & { readonly attributes?: readonly Attribute[] })[]
    }[]
  }[]
  readonly resourceMetrics?: readonly { readonly scopeMetrics: readonly { readonly metrics: readonly { readonly name: string }[] }[] }[]
}

/** Starts an OTLP/HTTP JSON receiver on a free port. @param respond If false, it accepts requests but never responds. */
export async function otlpReceiver(respond = true): Promise<OtlpReceiver> {
  const spans: ReceivedSpan[] = []
  const metrics = new Set<string>()
  const requests: OtlpReceiver['requests'] = []
  let all = ''
  const server = createServer((request, response) => {
    let text = ''
    request.setEncoding('utf8')
    request.on('data', (part: string) => {
      text += part
    })
    request.on('end', () => {
      requests.push({ path: request.url ?? '', headers: request.headers })
      all += text
      const body = JSON.parse(text) as Body
      for (const { scopeSpans } of body.resourceSpans ?? []) {
        for (const span of scopeSpans.flatMap((scope) => scope.spans)) {
          const attributes = Object.fromEntries((span.attributes ?? []).map(({ key, value }) => [key, Object.values(value)[0]]))
          spans.push({ ...span, attributes })
        }
      }
      for (const { scopeMetrics } of body.resourceMetrics ?? []) {
        for (const metric of scopeMetrics.flatMap((scope) => scope.metrics)) metrics.add(metric.name)
      }
      if (respond) response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
    metrics,
    requests,
    text: () => all,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
