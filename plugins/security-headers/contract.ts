import { defineService } from 'zin'

/** For plugins that send pages. */
export interface SecurityHeaders {
  /** The `Content-Security-Policy` of pages; undefined: pages get that of every response. */
  readonly pagePolicy: string | undefined
}

export const securityHeadersService = defineService<SecurityHeaders>('security-headers')
