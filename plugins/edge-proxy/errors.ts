import { defineErrors } from 'zin'

export const edgeProxyErrors = defineErrors({
  EDGE_PROXY_CONFIG: {
    message: (what: string) => `The edge proxy cannot start: ${what}`,
    when: 'At boot: a setting is invalid, or no secret is configured',
    fix: 'Fix the setting named in the message',
  },
  EDGE_PROXY_ADDRESS: {
    message: (host: string, port: number, why: string) =>
      `The edge proxy cannot listen on ${host}:${port}: ${why}. Choose another --host or --port`,
    when: '`zin proxy`: the port is in use, or the host is not an address of this machine',
    fix: 'Choose another `--host` or `--port`',
  },
  EDGE_DEPLOY_CONFIG: {
    message: (what: string) => what,
    when: '`zin deploy`: a setting is missing or invalid, or wrangler is not installed',
    fix: 'Follow the advice in the message',
  },
  EDGE_DEPLOY_FAILED: {
    message: (what: string, output: string) => `wrangler ${what} failed:\n${output}`,
    when: '`zin deploy`: wrangler failed',
    fix: 'Fix the problem shown in its output',
  },
})
