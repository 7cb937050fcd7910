import { isSameSecret } from 'zin/signing'
import type { ServiceAuth } from './contract.js'

const bearer = /^Bearer ([\u0021-\u007e]+)$/i

/** Strategy `api-key`: one key, in `x-api-key` or as a bearer token. */
export function apiKey(key: string): ServiceAuth {
  return {
    credentials: () => ({ 'x-api-key': key }),
    refusal({ headers }) {
      const given = headers['x-api-key'] ?? bearer.exec(headers.authorization?.toString() ?? '')?.[1]
      if (typeof given !== 'string') return 'no API key'
      return isSameSecret(given, key) ? undefined : 'wrong API key'
    },
  }
}
