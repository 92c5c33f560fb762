// Package telemetry makes metrics known to Prometheus.
package telemetry
