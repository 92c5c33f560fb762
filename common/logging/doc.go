// Package logging is the one way to the log: zap behind logr, for controller-runtime,
// client-go and ourselves alike. Nobody else imports zap or klog.
package logging
