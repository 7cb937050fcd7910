import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { describe, it } from 'node:test'
import { type TestApp, withApp } from './testing/app.js'
import { failing } from './testing/layer-cases.js'
import { exchange, requestHead } from './testing/socket.js'

type Headers = readonly (readonly [string, string])[]

const body = '{"text":"signed"}'
/** How a request carries its body. */
const shapes: Readonly<Record<string, { readonly headers: Headers; readonly sent: string }>> = {
  'no body': { headers: [], sent: '' },
  'a body': { headers: [['content-length', String(body.length)]], sent: body },
  'a body in chunks': { headers: [['transfer-encoding', 'chunked']], sent: `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n` },
  'a body that waits': {
    headers: [
      ['content-length', String(body.length)],
      ['expect', '100-continue'],
    ],
    sent: body,
  },
}

/** All bytes of a response without its time, its id and the `100 Continue`. */
function bytesOf(text: string): string {
  assert.match(text, /x-request-id: [\w-]+\r\n/i)
  assert.match(text, /date: \w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT\r\n/i)
  return text
    .replace('HTTP/1.1 100 Continue\r\n\r\n', '')
    .replace(/x-request-id: [^\r]+/i, 'x-request-id')
    .replace(/date: [^\r]+/i, 'date')
}

const answered = /HTTP\/1\.1 [2-5]\d\d [\s\S]*\r\n\r\n[\s\S]*\}/

describe('S42: the bytes of a refusal, over a raw socket,', () => {
  for (const [title, { headers, sent }] of Object.entries(shapes)) {
    it(`are the same for every layer, on a request with ${title}`, () =>
      withApp({ listen: true, env: { HOST: '127.0.0.1' } }, async (app) => {
        const [method, path] = sent === '' ? ['GET', '/api/me'] : ['POST', '/api/notes']
        const signedBody = sent === '' ? {} : { body }
        const seen = new Map<string, string[]>()
        const layers = new Set<number>()
        const note = (text: string, what: string): void => {
          assert.match(text, /HTTP\/1\.1 401 [\s\S]*\r\ncache-control: no-store\r\n/i, what)
          const bytes = bytesOf(text)
          seen.set(bytes, [...(seen.get(bytes) ?? []), what])
        }
        const send = (own: Readonly<Record<string, string>>): Promise<string> =>
          exchange(
            app.host.url,
            requestHead(app.host.url, `${method} ${path} HTTP/1.1`, [...Object.entries(own), ...headers]) + sent,
            answered,
          )

        for (const { layer, title: what, make } of failing) {
          const sending = await make(app)
          // Cases with a different request line are different requests.
          if (sending.path !== undefined || sending.headers?.['x-sig-body-sha256'] !== undefined) continue
          layers.add(layer)
          note(await send(await app.headersOf({ ...sending, method, path, ...signedBody })), `${layer}: ${what}`)
        }
        if (sent !== '') {
          const other = await app.headersOf({ method, path, body: '{"text":"others"}' })
          note(await send(other), '6: another body')
          note(await lateReplay(app, await app.headersOf({ method, path, body })), '5: a copy that comes at the same time')
        }
        assert.deepEqual([...layers].sort(), [1, 2, 3, 4, 5, 6, 7, 8, 9])
        assert.equal(seen.size, 1, JSON.stringify([...seen], undefined, 1))
      }))

    /** Sends two copies that both received `100 Continue`, so that only the claim of the nonce distinguishes them. Returns the refusal. */
    const lateReplay = async (app: TestApp, own: Readonly<Record<string, string>>): Promise<string> => {
      const { port } = new URL(app.host.url)
      const all = [...Object.entries(own), ...headers]
      const head = requestHead(app.host.url, 'POST /api/notes HTTP/1.1', all)
      const copies = await Promise.all(
        [0, 1].map(async () => {
          const socket = connect(Number(port), '127.0.0.1')
          socket.write(head)
          let text = ''
          const heard = async (pattern: RegExp): Promise<string> => {
            while (!pattern.test(text))
              text += await new Promise<string>((resolve) => socket.once('data', (chunk) => resolve(chunk.toString('latin1'))))
            return text
          }
          if (all.some(([name]) => name === 'expect')) await heard(/^HTTP\/1\.1 100 /)
          return { socket, heard }
        }),
      )
      for (const { socket } of copies) socket.write(sent)
      const responses = await Promise.all(copies.map(({ heard }) => heard(answered)))
      for (const { socket } of copies) socket.destroy()
      const refused = responses.filter((text) => /HTTP\/1\.1 401 /.test(text))
      assert.equal(refused.length, 1)
      return refused[0] as string
    }
  }
})
