// Package monitoring reads the dashboards and alert rules of manifests/monitoring, for the
// tests that hold them: that they parse, that each rule fires when it should, and that hub and
// agents have every metric that they use.
package monitoring
