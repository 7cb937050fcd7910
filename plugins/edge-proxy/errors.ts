import { defineErrors } from 'zin'

export const edgeProxyErrors = defineErrors({
  EDGE_PROXY_CONFIG: {
    message: (what: string) => `The edge proxy cannot start: ${what}`,
    when: 'At boot: a setting is wrong, or there is no secret',
    fix: 'Correct the setting that the message names',
  },
  EDGE_PROXY_ADDRESS: {
    message: (host: string, port: number, why: string) =>
      `The edge proxy cannot listen on ${host}:${port}: ${why}. Choose another --host or --port`,
    when: '`zin proxy`: the port is taken, or the host is not one of this machine',
    fix: 'Choose another `--host` or `--port`',
  },
  EDGE_DEPLOY_CONFIG: {
    message: (what: string) => what,
    when: '`zin deploy`: a setting is missing or wrong, or wrangler is not installed',
    fix: 'Do what the message says',
  },
  EDGE_DEPLOY_FAILED: {
    message: (what: string, output: string) => `wrangler ${what} failed:\n${output}`,
    when: '`zin deploy`: wrangler ended with an error',
    fix: 'Correct what its output says',
  },
})
