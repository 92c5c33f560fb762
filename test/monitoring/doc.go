// Package monitoring reads the dashboards and alert rules of manifests/monitoring for tests, which check that they
// parse, that each rule fires when it should, and that hub and agents export every metric that they use.
package monitoring
