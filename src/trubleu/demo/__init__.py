"""The whole way from conversations to a report in one go: a made world is mined, rated, scored and judged.

`steps` says what is done, as the commands that a user would type; `folder` keeps what is done already, so that an
interrupted demo goes on; `running` does it; `results` reads what came out, `finding` says it in words, and `page` shows
it.
"""
