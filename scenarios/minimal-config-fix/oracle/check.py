"""Usage: check.py value|rest. Reads config/gateway.ini the way the gateway does."""

import configparser
import sys

REST = {
    "server": {"port": "8443", "host": "0.0.0.0", "keepalive_s": "75"},
    "limits": {"max_body_kb": "512", "retries": "0", "burst": "20"},
    "logging": {"level": "info", "path": "/var/log/gateway.log"},
}

settings = configparser.ConfigParser(interpolation=None)
try:
    with open("config/gateway.ini", encoding="utf-8") as file:
        settings.read_file(file)
except (OSError, ValueError, configparser.Error) as error:
    sys.exit(f"config/gateway.ini cannot be read: {error}")
found = {section: dict(settings[section]) for section in settings.sections()}
value = found.get("server", {}).pop("request_timeout_ms", None)
if sys.argv[1] == "value":
    print(f"request_timeout_ms is {value!r}, wanted '30000'")
    sys.exit(value != "30000")
for section in sorted(REST.keys() | found.keys()):
    if found.get(section) != REST.get(section):
        sys.exit(f"[{section}] is {found.get(section)}, was {REST.get(section)}")
if settings.defaults():
    sys.exit(f"[DEFAULT] is new: {dict(settings.defaults())}")
print("all other settings as before")
