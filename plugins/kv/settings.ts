import { redisSettings } from 'zin/plugins/redis'

export const kvSettings = redisSettings
