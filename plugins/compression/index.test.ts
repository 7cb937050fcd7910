import { describePlugin } from 'zin/testing'
import { compression } from './index.js'

describePlugin(() => [], compression, { readme: new URL('./README.md', import.meta.url) })
