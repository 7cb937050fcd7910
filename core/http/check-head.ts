import type { IncomingMessage, ServerResponse } from 'node:http'
import { httpErrors } from './errors.js'
import { repeatedHeader } from './headers.js'
import { targetProblem } from './target.js'

/** Refuses a request whose head two readers could understand differently, and one that may be a replay. Throws a ZinError. */
export function checkHead(req: IncomingMessage, res: ServerResponse): void {
  const problem = targetProblem(req.url ?? '')
  if (problem !== undefined) throw httpErrors.BAD_REQUEST_TARGET(problem)
  const repeated = repeatedHeader(req)
  if (repeated !== undefined) throw httpErrors.DUPLICATE_HEADER(repeated)
  const { headers } = req
  const coding = headers['transfer-encoding']
  if (coding !== undefined && (coding.toLowerCase() !== 'chunked' || req.httpVersion === '1.0')) {
    // Whoever is in front may see the end of the body elsewhere.
    res.shouldKeepAlive = false
    throw httpErrors.UNSUPPORTED_TRANSFER_ENCODING()
  }
  // RFC 8470 5.1: several or invalid values count as 1.
  if (headers['early-data'] !== undefined && req.method !== 'GET' && req.method !== 'HEAD') throw httpErrors.TOO_EARLY()
}
