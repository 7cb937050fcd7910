/** Sequential tests and the underlying functions, for plugins that repeatedly evaluate counts. Pure functions, not a plugin. */

export { logBeta, logBetaTail, logEvidenceAbove, logGamma, sequentialHalfWidth, wilsonUpper } from './math.js'
