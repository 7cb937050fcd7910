import { once } from 'node:events'
import { connect, type Socket } from 'node:net'

/** The head of a request with a form whose boundary is `edge`. Without `length`, it comes in chunks. */
export const head = (path: string, length: number | undefined, type = 'multipart/form-data; boundary=edge'): string =>
  [
    `POST ${path} HTTP/1.1`,
    'Host: localhost',
    `Content-Type: ${type}`,
    length === undefined ? 'Transfer-Encoding: chunked' : `Content-Length: ${length}`,
    '',
    '',
  ].join('\r\n')

/** The head of a part with a text file. */
export const fileHead = '--edge\r\nContent-Disposition: form-data; name="upload"; filename="a.txt"\r\nContent-Type: text/plain\r\n\r\n'

export interface RawClient {
  readonly socket: Socket
  /** What it has received when the connection ends. */
  readonly closed: Promise<string>
  send(bytes: string): void
  /** What it has received. */
  text(): string
}

/** A client that sends what it is told, when it is told. */
export async function rawClient(url: string): Promise<RawClient> {
  const { hostname, port } = new URL(url)
  const socket = connect({ port: Number(port), host: hostname, noDelay: true })
  let text = ''
  socket.on('data', (chunk) => (text += chunk.toString('latin1')))
  socket.on('error', () => undefined)
  const closed = once(socket, 'close').then(() => text)
  await once(socket, 'connect')
  return { socket, closed, send: (bytes) => void socket.write(bytes), text: () => text }
}
