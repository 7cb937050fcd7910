import { once } from 'node:events'
import { createApp, type Printer } from 'zin'
import { health } from 'zin/plugins/health'
import { rdbProxy } from './index.js'

export interface ServeOptions {
  readonly host: string
  readonly port: number
  readonly env: Readonly<Record<string, string | undefined>>
  readonly cwd: string
  readonly watch: boolean
  readonly signal: AbortSignal
  readonly print: Printer
}

/** Serves the proxy until the signal is aborted. */
export async function serveProxy({ host, port, env, cwd, watch, signal, print }: ServeOptions): Promise<void> {
  const app = createApp(
    { app: { name: 'rdb-proxy', host, port }, plugins: [health(), rdbProxy({ watch, reloadOnHangup: true })] },
    // A separate data folder, so that an app in the same folder is not affected.
    { env: { ZIN_DATA_DIR: `${cwd}/.zin/rdb-proxy`, ...env } },
  )
  await app.start()
  print.line(`rdb-proxy listens on ${app.url}`)
  if (!signal.aborted) await once(signal, 'abort')
  await app.stop('SIGTERM')
}
