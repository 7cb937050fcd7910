import { featureName } from './define-feature.js'
import { type Check, isObject, problem, unknownName } from './problem.js'
import { featureNames } from './record.js'

/** Validates names and values. Whether a feature exists depends on the plugins of the app, and is checked later. */
export const checkFeatures: Check = (value) => {
  if (!isObject(value)) return problem('features', 'INVALID_FEATURES_TYPE', '"features" must be an object of booleans')
  const unknown = Object.keys(value).find((name) => !featureName.test(name))
  if (unknown !== undefined) return unknownName(unknown, featureNames, 'INVALID_FEATURE', 'features')
  const wrong = Object.keys(value).find((name) => typeof value[name] !== 'boolean')
  return wrong === undefined
    ? undefined
    : problem(`features.${wrong}`, 'INVALID_FEATURE_VALUE', `"features.${wrong}" must be true or false`)
}
