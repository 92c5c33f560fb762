// Package meter reads what processes of this machine and API servers use: processor time, memory, requests. Benches take
// the difference between two moments.
package meter
