import type { TestContext } from 'node:test'
import { definePlugin, type PluginContext } from 'zin'
import { createTestHost, type TestHost, type TestHostOptions } from 'zin/testing'
import { websocket } from '../index.js'
import { type Client, type ConnectOptions, connect } from './client.js'

export interface SocketApp {
  readonly host: TestHost
  readonly url: string
  open(path: string, options?: ConnectOptions): Promise<Client>
}

/** An app that listens, with the sockets of one plugin; it is stopped, and its clients are cut, when the test ends. */
export async function socketApp(
  t: TestContext,
  options: Parameters<typeof websocket>[0],
  setup: (ctx: PluginContext) => void,
  more: TestHostOptions = {},
): Promise<SocketApp> {
  const chat = definePlugin({ name: 'chat', version: '1.0.0', dependencies: ['websocket'], setup })
  const { plugins = [], ...others } = more
  const host = await createTestHost({ ...others, plugins: [...plugins, websocket(options), chat()], listen: true })
  const clients: Client[] = []
  t.after(async () => {
    for (const { ws } of clients) ws.terminate()
    await host.stop()
  })
  return {
    host,
    url: host.url,
    open: async (path, given) => {
      const client = await connect(`${host.url}${path}`, given)
      clients.push(client)
      return client
    },
  }
}
