// Package logging sets up the log: zap behind logr, shared with controller-runtime and client-go. No other package
// imports zap or klog.
package logging
