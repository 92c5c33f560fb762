// Package rollouts describes the staged rollout of an application: in one line, by wave, by cluster, by revision, and
// what to type next. It is pure.
package rollouts
