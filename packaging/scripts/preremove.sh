#!/bin/sh
# Stops the service when the package goes for good: "remove" of dpkg, 0 of rpm. Data and
# configuration stay.
set -e
if [ "$1" = remove ] || [ "$1" = 0 ]; then
	if [ -d /run/systemd/system ]; then
		systemctl disable --now quorate.service
	fi
fi
