import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A server that receives seals. It responds with the status that `control.status` is then. */
export async function receiver() {
  const requests: { readonly headers: IncomingHttpHeaders; readonly text: string }[] = []
  const control = { status: 204 }
  const server = createServer(async (request, response) => {
    let text = ''
    for await (const chunk of request) text += String(chunk)
    requests.push({ headers: request.headers, text })
    response.writeHead(control.status).end()
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return Object.assign(control, {
    requests,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/seals`,
    async close(): Promise<void> {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  })
}
