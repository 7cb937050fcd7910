/** Sequential tests and the functions below them, for plugins that decide on counts again and again. Pure; no plugin. */

export { logBeta, logBetaTail, logEvidenceAbove, logGamma, sequentialHalfWidth, wilsonUpper } from './math.js'
