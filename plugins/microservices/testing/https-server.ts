import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import type { RequestListener } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { cleanUp } from '../../../scripts/testing/clean-up.js'

/** Starts a server with a self-signed certificate for `localhost`; `ca` is the certificate file. */
export async function httpsServer(t: TestContext, listener: RequestListener): Promise<{ readonly port: number; readonly ca: string }> {
  const later = cleanUp(t)
  const folder = await mkdtemp(join(tmpdir(), 'zin-https-'))
  later(() => rm(folder, { recursive: true, force: true }))
  const [key, ca] = [join(folder, 'key.pem'), join(folder, 'ca.pem')]
  const args = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2', '-subj', '/CN=test']
  execFileSync('openssl', [...args, '-addext', 'subjectAltName=DNS:localhost', '-keyout', key, '-out', ca], { stdio: 'ignore' })
  const server = createServer({ key: await readFile(key), cert: await readFile(ca) }, listener)
  later(() => {
    server.close()
    server.closeAllConnections()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return { port: (server.address() as AddressInfo).port, ca }
}
