/** Sequential tests and the underlying functions, for plugins that repeatedly evaluate counts. Pure functions, not a plugin. */

export { type FailingVersion, failingVersions, type VersionShare } from './failing-versions.js'
export { failsTooOften, fewAttempts } from './failure-share.js'
export { logBeta, logBetaTail, logEvidenceAbove, logGamma, sequentialHalfWidth, wilsonUpper } from './math.js'
