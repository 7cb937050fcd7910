import { ops } from 'zin/plugins/ops'
import { describePlugin } from 'zin/testing'
import { observability } from './index.js'

describePlugin(() => [ops()], observability, {
  readme: new URL('./README.md', import.meta.url),
  env: { METRICS_EXPORT_ENABLED: 'true', METRICS_PORT: '0' },
})
